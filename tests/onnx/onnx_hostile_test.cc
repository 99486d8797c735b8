// SPDX-License-Identifier: Apache-2.0
//
// Damaged and hostile models: each gives a status, and memory stays bounded.
//
//   bazel run //tests/onnx:onnx_hostile_test -- 10000 [FOLDER]
//
// imports 10,000 mutants, also of the models in the subfolders of FOLDER. The
// slice that runs as a test takes 2 seconds.
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/onnx/import.h"
#include "ocannl/onnx/model.h"
#include "ocannl/onnx/write.h"
#include "tests/onnx/float_info.h"
#include "tests/support/status_matchers.h"

namespace ocannl::onnx {
namespace {

using testing::HasSubstr;

// An error, of whatever code, whose message has `text`.
MATCHER_P(IsError, text, absl::StrCat("is an error with ", text)) {
  *result_listener << "whose status is " << arg;
  return !arg.ok() && absl::StrContains(arg.message(), text);
}

int mutants = 400;
std::string folder;

NdArray Floats(Dims dims) {
  NdArray array(DType::kF32, std::move(dims));
  for (int64_t k = 0; k < array.size(); ++k) {
    array.values<float>()[k] = static_cast<float>(k % 7) - 3;
  }
  return array;
}

NdArray Wholes(const std::vector<int64_t>& values) {
  return NdArray::Of<int64_t>({static_cast<int64_t>(values.size())}, values);
}

OnnxModel ModelOf(std::vector<Node> nodes) {
  OnnxModel model = {.opsets = {{"", 17}}};
  model.graph.nodes = std::move(nodes);
  return model;
}

// A picture through a convolution, a pool and a linear map, with arithmetic on
// shapes and a branch.
OnnxModel SmallNet() {
  OnnxGraph then_branch, else_branch;
  then_branch.nodes = {{.op = "Relu", .inputs = {"g"}, .outputs = {"t"}}};
  then_branch.outputs = {FloatInfo("t", {-1, 4})};
  else_branch.nodes = {{.op = "Neg", .inputs = {"g"}, .outputs = {"e"}}};
  else_branch.outputs = {FloatInfo("e", {-1, 4})};
  OnnxModel model = ModelOf({
      {.op = "Conv",
       .name = "first",
       .inputs = {"x", "w", "b"},
       .outputs = {"c"},
       .attributes = {{"kernel_shape", WholesAttribute({3, 3})},
                      {"pads", WholesAttribute({1, 1, 1, 1})},
                      {"strides", WholesAttribute({2, 2})}}},
      {.op = "MaxPool",
       .inputs = {"c"},
       .outputs = {"p"},
       .attributes = {{"kernel_shape", WholesAttribute({2, 2})},
                      {"strides", WholesAttribute({2, 2})}}},
      {.op = "Shape", .inputs = {"p"}, .outputs = {"s"}},
      {.op = "Gather",
       .inputs = {"s", "zero"},
       .outputs = {"n"},
       .attributes = {{"axis", WholeAttribute(0)}}},
      {.op = "Concat",
       .inputs = {"n", "rest"},
       .outputs = {"dims"},
       .attributes = {{"axis", WholeAttribute(0)}}},
      {.op = "Reshape", .inputs = {"p", "dims"}, .outputs = {"f"}},
      {.op = "Gemm",
       .inputs = {"f", "v", "d"},
       .outputs = {"g"},
       .attributes = {{"transB", WholeAttribute(1)}}},
      {.op = "Equal", .inputs = {"n", "one"}, .outputs = {"is_one"}},
      {.op = "If",
       .inputs = {"is_one"},
       .outputs = {"h"},
       .attributes = {{"then_branch", GraphAttribute(then_branch)},
                      {"else_branch", GraphAttribute(else_branch)}}},
      {.op = "Softmax",
       .inputs = {"h"},
       .outputs = {"y"},
       .attributes = {{"axis", WholeAttribute(1)}}},
      {.op = "Transpose",
       .inputs = {"c"},
       .outputs = {"z"},
       .attributes = {{"perm", WholesAttribute({0, 2, 3, 1})}}},
      {.op = "Slice", .inputs = {"z", "zero", "one"}, .outputs = {"u"}},
  });
  model.graph.initializers = {
      {"w", Floats({4, 1, 3, 3})}, {"b", Floats({4})},
      {"v", Floats({4, 16})},      {"d", Floats({4})},
      {"zero", Wholes({0})},       {"one", Wholes({1})},
      {"rest", Wholes({-1})},
  };
  model.graph.inputs = {FloatInfo("x", {-1, 1, 8, 8})};
  model.graph.outputs = {FloatInfo("y", {-1, 4}), FloatInfo("u", {1, 4, 4, 4})};
  return model;
}

// Imports the model and makes its code, with 1 for each free dimension.
absl::Status ImportAll(const std::string& bytes) {
  absl::StatusOr<OnnxModel> model = ReadModel(bytes);
  if (!model.ok()) return model.status();
  ImportOptions options;
  for (const TensorInfo& info : model->graph.inputs) {
    for (const Dim& dim : info.dims.value_or(std::vector<Dim>())) {
      if (!dim.size) options.dims[dim.name] = 1;
    }
  }
  absl::StatusOr<ImportedModel> net = Import(*model, options);
  if (!net.ok()) return net.status();
  return Forward(*net).status();
}

// The bytes with one to four changes: a byte, a bit, a part that is cut out,
// repeated or exchanged, or an end that is cut off.
std::string Mutant(std::string bytes, std::mt19937& random) {
  auto below = [&](size_t end) { return random() % std::max<size_t>(1, end); };
  const size_t changes = 1 + below(4);
  for (size_t k = 0; k < changes && !bytes.empty(); ++k) {
    const size_t at = below(bytes.size());
    const size_t size = 1 + below(std::min<size_t>(16, bytes.size() - at));
    switch (below(6)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] ^= static_cast<char>(1 << below(8));
        break;
      case 2:
        bytes.erase(at, size);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, size));
        break;
      case 4: {
        const std::string part = bytes.substr(at, size);
        bytes.insert(below(bytes.size()), part);
        break;
      }
      default:
        if (below(8) == 0) bytes.resize(at);
    }
  }
  return bytes;
}

std::vector<std::string> Originals() {
  std::vector<std::string> originals = {WriteModel(SmallNet())};
  if (folder.empty()) return originals;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const absl::StatusOr<std::string> bytes =
        ReadFile(entry.path().string() + "/model.onnx");
    if (bytes.ok()) originals.push_back(*bytes);
  }
  return originals;
}

int64_t PeakMemory() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} << 10;
}

TEST(OnnxHostileTest, MutantsGiveAStatus) {
  ASSERT_THAT(ImportAll(WriteModel(SmallNet())), IsOk());
  const std::vector<std::string> originals = Originals();
  std::map<absl::StatusCode, int> counts;
  for (int k = 0; k < mutants; ++k) {
    std::mt19937 random(k);
    const std::string bytes = Mutant(originals[k % originals.size()], random);
    if (!folder.empty()) {
      // What ends the process is the last one that is written.
      std::ofstream("/tmp/onnx_mutant.onnx", std::ios::binary) << bytes;
    }
    ++counts[ImportAll(bytes).code()];
  }
  for (const auto& [code, count] : counts) {
    std::cout << absl::StatusCodeToString(code) << " " << count << "\n";
  }
  EXPECT_GT(counts[absl::StatusCode::kInvalidArgument], mutants / 10);
  EXPECT_EQ(counts[absl::StatusCode::kInternal], 0);
  EXPECT_LT(PeakMemory(), int64_t{2} << 30);
}

TEST(OnnxHostileTest, LengthsBeyondTheFileAreErrors) {
  const std::string bytes = WriteModel(SmallNet());
  for (size_t size = 0; size < bytes.size(); size += 97) {
    EXPECT_FALSE(ImportAll(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_THAT(ImportAll(std::string(11, '\xff')), IsError("ends within"));
  EXPECT_THAT(ImportAll("not a model"), testing::Not(IsOk()));
}

TEST(OnnxHostileTest, DimsAreComparedWithTheData) {
  const std::string tensor = NumberField(1, int64_t{1} << 40) +
                             NumberField(1, int64_t{1} << 40) +
                             NumberField(2, 1) + BytesField(9, "1234");
  EXPECT_FALSE(ReadTensor(tensor).ok());
  const std::string large = NumberField(1, int64_t{1} << 34) +
                            NumberField(2, 1) + BytesField(9, "1234");
  EXPECT_THAT(ReadTensor(large).status(), IsError("its data has 4"));
}

TEST(OnnxHostileTest, LargeConstantsAreErrors) {
  OnnxModel model =
      ModelOf({{.op = "ConstantOfShape", .inputs = {"s"}, .outputs = {"y"}}});
  model.graph.initializers = {{"s", Wholes({1 << 20, 1 << 20, 1 << 20})}};
  model.graph.outputs = {FloatInfo("y", {})};
  EXPECT_THAT(ImportAll(WriteModel(model)), IsError("larger than"));
}

TEST(OnnxHostileTest, CyclesAreErrors) {
  OnnxModel model =
      ModelOf({{.op = "Relu", .inputs = {"b"}, .outputs = {"a"}},
               {.op = "Relu", .inputs = {"a"}, .outputs = {"b"}}});
  model.graph.outputs = {FloatInfo("b", {1})};
  EXPECT_THAT(ImportAll(WriteModel(model)),
              IsError("reads `b`, which no node before it computes"));
}

TEST(OnnxHostileTest, TwoValuesOfANameAreErrors) {
  const Node node = {.op = "Relu", .inputs = {"x"}, .outputs = {"y"}};
  OnnxModel model = ModelOf({node, node});
  model.graph.inputs = {FloatInfo("x", {1})};
  model.graph.outputs = {FloatInfo("y", {1})};
  EXPECT_THAT(ImportAll(WriteModel(model)), IsError("computes `y`, but that"));
  model.graph.nodes = {node};
  model.graph.inputs.push_back(FloatInfo("x", {2}));
  EXPECT_THAT(ImportAll(WriteModel(model)), IsError("two inputs are named"));
}

// Each would take minutes: a product of constants, and code for each cell or
// step.
TEST(OnnxHostileTest, TheTimeOfAnImportIsBounded) {
  OnnxModel model =
      ModelOf({{.op = "ConstantOfShape", .inputs = {"s"}, .outputs = {"a"}},
               {.op = "ConstantOfShape", .inputs = {"t"}, .outputs = {"b"}},
               {.op = "MatMul", .inputs = {"a", "b"}, .outputs = {"y"}}});
  model.graph.initializers = {{"s", Wholes({1000, 20000})},
                              {"t", Wholes({20000, 1000})}};
  model.graph.outputs = {FloatInfo("y", {1000, 1000})};
  EXPECT_TRUE(ImportAll(WriteModel(model)).ok());
  model = ModelOf({{.op = "ReduceProd", .inputs = {"x"}, .outputs = {"y"}}});
  model.graph.inputs = {FloatInfo("x", {1 << 24})};
  model.graph.outputs = {FloatInfo("y", {1})};
  EXPECT_TRUE(ImportAll(WriteModel(model)).ok());
  model =
      ModelOf({{.op = "RNN", .inputs = {"x", "w", "r"}, .outputs = {"", "y"}}});
  model.graph.inputs = {FloatInfo("x", {1 << 24, 1, 1}),
                        FloatInfo("w", {1, 1, 1}), FloatInfo("r", {1, 1, 1})};
  model.graph.outputs = {FloatInfo("y", {1, 1, 1})};
  EXPECT_THAT(ImportAll(WriteModel(model)), IsError("node `y` (RNN): a seq"));
}

TEST(OnnxHostileTest, DeepGraphsAreErrors) {
  OnnxGraph graph;
  for (int k = 0; k < 100; ++k) {
    OnnxGraph outer;
    outer.nodes = {{.op = "If",
                    .inputs = {"c"},
                    .outputs = {"y"},
                    .attributes = {{"then_branch", GraphAttribute(graph)}}}};
    graph = outer;
  }
  OnnxModel model = ModelOf({});
  model.graph = graph;
  EXPECT_THAT(ImportAll(WriteModel(model)), IsError("more than 64 graphs"));
}

TEST(OnnxHostileTest, AllUnsupportedNodesAreListed) {
  OnnxModel model = ModelOf(
      {{.op = "Fancy", .name = "one", .inputs = {"x"}, .outputs = {"a"}},
       {.op = "Relu", .name = "two", .inputs = {"a"}, .outputs = {"b"}},
       {.op = "Shape",
        .domain = "com.example",
        .name = "three",
        .inputs = {"b"},
        .outputs = {"c"}}});
  model.graph.inputs = {FloatInfo("x", {2})};
  model.graph.outputs = {FloatInfo("c", {2})};
  const absl::Status status = ImportAll(WriteModel(model));
  EXPECT_TRUE(absl::IsUnimplemented(status));
  EXPECT_THAT(status.message(), HasSubstr("2 nodes"));
  EXPECT_THAT(status.message(), HasSubstr("`one` (Fancy): operator Fancy"));
  EXPECT_THAT(status.message(), HasSubstr("operator com.example.Shape"));
}

// A tensor whose data is at `location`.
std::string External(const std::string& location) {
  return NumberField(1, 2) + NumberField(2, 1) + BytesField(8, "w") +
         BytesField(13, BytesField(1, "location") + BytesField(2, location)) +
         NumberField(14, 1);
}

TEST(OnnxHostileTest, ExternalDataIsInTheFolderOfTheModel) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(testing::TempDir()) / "external";
  fs::remove_all(root);
  fs::create_directories(root / "model");
  const NdArray array = NdArray::Of<float>({2}, {3, 4});
  ASSERT_THAT(WriteFile((root / "model/w.bin").string(), array.AsString()),
              IsOk());
  ASSERT_THAT(WriteFile((root / "secret").string(), array.AsString()), IsOk());
  fs::create_symlink(root / "secret", root / "model/link");
  const std::string inside = (root / "model").string();
  auto read = ReadTensor(External("w.bin"), inside);
  ASSERT_THAT(read, IsOk());
  EXPECT_TRUE(SameBits(*read, array));
  for (const std::string& location :
       {std::string("../secret"), (root / "secret").string(),
        std::string("link"), std::string(""), std::string("/dev/zero")}) {
    EXPECT_FALSE(ReadTensor(External(location), inside).ok()) << location;
  }
  EXPECT_THAT(ReadTensor(External("none"), inside).status(), IsError("none"));
  ASSERT_THAT(WriteFile((root / "model/w.bin").string(), "123"), IsOk());
  EXPECT_THAT(ReadTensor(External("w.bin"), inside).status(),
              IsError("its data has 3"));
}

}  // namespace
}  // namespace ocannl::onnx

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) ocannl::onnx::mutants = std::atoi(argv[1]);
  if (argc > 2) ocannl::onnx::folder = argv[2];
  return RUN_ALL_TESTS();
}
