// SPDX-License-Identifier: Apache-2.0
//
// Exported graphs compute what they did: they are imported again and run.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "experiments/nets/nets.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/onnx/export.h"
#include "ocannl/onnx/import.h"
#include "ocannl/onnx/model.h"
#include "ocannl/onnx/session.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/run/predict.h"
#include "ocannl/train/run/run.h"
#include "tests/support/status_matchers.h"

namespace ocannl::onnx {
namespace {

using testing::HasSubstr;

// Numbers that are spread over [-1, 1), or for integers over [0, count).
NdArray Spread(DType dtype, Dims dims, int64_t count = 2) {
  NdArray array(dtype, std::move(dims));
  VisitDType(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t k = 0; k < array.size(); ++k) {
      const int64_t step = (k * 7919 + 13) % 1009;
      const double number = static_cast<double>(step) / 1009 * 2 - 1;
      if constexpr (kIsNarrow<T>) {
        array.values<T>()[k] = T::Round(number);
      } else {
        array.values<T>()[k] = static_cast<T>(
            std::is_integral_v<T> ? static_cast<double>(step % count) : number);
      }
    }
  });
  return array;
}

void ExpectNear(const NdArray& found, const NdArray& expected, double tolerance,
                const std::string& what) {
  ASSERT_EQ(found.dtype(), expected.dtype()) << what;
  ASSERT_EQ(found.dims(), expected.dims()) << what;
  double scale = 0;
  for (int64_t k = 0; k < expected.size(); ++k) {
    const double cell = std::abs(expected.AsDouble(k));
    if (std::isfinite(cell)) scale = std::max(scale, cell);
  }
  for (int64_t k = 0; k < found.size(); ++k) {
    const double x = found.AsDouble(k), y = expected.AsDouble(k);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    ASSERT_NEAR(x, y, tolerance * (scale + std::abs(y))) << what << " " << k;
  }
}

// A graph, and what it computed before the export.
struct Example {
  train::Model model;
  std::vector<Tensor> inputs, outputs;
  std::vector<NdArray> values;  // of the inputs

  Tensor In(const std::string& name, const std::string& rows, NdArray value) {
    inputs.push_back(Input(model.graph, name, rows, value.dtype()));
    values.push_back(std::move(value));
    return inputs.back();
  }
};

struct Machine {
  explicit Machine(const std::string& tier = "auto")
      : device("host", *FindTier(tier)), stream(&device), context(&stream) {}

  Device device;
  Stream stream;
  Context context;
};

using NamedArrays = std::map<std::string, NdArray>;

absl::StatusOr<NamedArrays> RunFile(const std::string& path,
                                    const NamedArrays& inputs,
                                    const std::map<std::string, int64_t>& dims,
                                    const std::string& tier) {
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, FindTier(tier));
  OCANNL_ASSIGN_OR_RETURN(Session session,
                          Session::Load(path, {.dims = dims}, *backend));
  return session.Run(inputs);
}

NdArray FirstRow(const NdArray& array) {
  Dims dims = array.dims();
  dims[0] = 1;
  NdArray row(array.dtype(), dims);
  std::copy_n(array.data(), row.bytes(), row.data());
  return row;
}

// Exports and imports, compares, with a batch of one too if it is open.
void ComesBack(Example& example, const std::string& name, bool is_open,
               double tolerance = 1e-6) {
  SCOPED_TRACE(name);
  Machine machine;
  for (Tensor output : example.outputs) {
    ASSERT_THAT(train::RunMissingInit(example.model, output, machine.context),
                IsOk());
  }
  const std::string path = testing::TempDir() + "/" + name + ".onnx";
  ASSERT_THAT(Export(example.model, example.outputs, example.inputs,
                     machine.context, path),
              IsOk());
  auto before = train::Predictor::Make(example.model, example.outputs,
                                       example.inputs, machine.context);
  ASSERT_THAT(before, IsOk());
  auto expected = before->PredictAll(example.values);
  ASSERT_THAT(expected, IsOk());
  auto file = ReadModelFile(path);
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->metadata.contains("fixed_batch"), !is_open)
      << file->metadata["fixed_batch"];
  NamedArrays inputs, rows;
  for (size_t k = 0; k < example.inputs.size(); ++k) {
    const std::string& input = example.inputs[k].node().name;
    inputs[input] = example.values[k];
    if (is_open) rows[input] = FirstRow(example.values[k]);
  }
  auto compare = [&](const NamedArrays& given, int64_t batch) {
    std::map<std::string, int64_t> dims;
    if (is_open) dims["batch"] = batch;
    const auto found = RunFile(path, given, dims, "auto");
    ASSERT_THAT(found, IsOk());
    for (size_t k = 0; k < expected->size(); ++k) {
      const NdArray& all = (*expected)[k];
      const std::string& output = example.outputs[k].node().name;
      ExpectNear(found->at(output), &given == &rows ? FirstRow(all) : all,
                 tolerance, output);
    }
  };
  compare(inputs, example.values[0].dims()[0]);
  if (is_open) compare(rows, 1);
}

// With an open batch: rows alone give what they give together. 1 second.
TEST(OnnxExportTest, Nets) {
  {
    Example mlp;
    const Tensor x = mlp.In("x", "3|2", Spread(DType::kF32, {3, 2}));
    mlp.outputs = {
        train::Mlp({&mlp.model.graph, "net"}, {.sizes = {16, 16, 1}})(x)};
    ComesBack(mlp, "moons", true);
  }
  auto net = [](const std::string& name, const MakeNet& make,
                const std::string& rows, NdArray value) {
    Example example;
    const Tensor x = example.In("x", rows, std::move(value));
    example.outputs = {make({&example.model.graph, ""})(x, train::kInference)};
    ComesBack(example, name, true);
  };
  net("lenet", LeNetOf(), "2|28,28,1", Spread(DType::kF32, {2, 28, 28, 1}));
  net("cifar_conv", CifarConv(), "2|32,32,3",
      Spread(DType::kF32, {2, 32, 32, 3}));
  net("gpt2_mini",
      Gpt2Mini(
          {.vocabulary = 11, .length = 6, .layers = 2, .size = 16, .heads = 2}),
      "3,6|", Spread(DType::kI32, {3, 6}, 11));
}

// Compares what an imported model computes before an export and after it.
absl::Status ComesBack(const ImportedModel& net, const std::string& folder) {
  Machine machine("interp");
  for (const NamedTensor& parameter : net.parameters) {
    OCANNL_RETURN_IF_ERROR(machine.context.Write(
        parameter.array, *parameter.data, Context::Unused::kIsLeft));
  }
  std::vector<Tensor> outputs, inputs;
  std::vector<TensorId> roots;
  for (const NamedTensor& output : net.outputs) {
    if (!output.tensor) continue;
    outputs.push_back(*output.tensor);
    roots.push_back(output.tensor->id);
  }
  if (outputs.empty()) return absl::OkStatus();
  const auto order = TopologicalOrder(net.model->graph, roots, false);
  std::vector<NdArray> values;
  NamedArrays by_name;
  for (const NamedTensor& input : net.inputs) {
    if (!input.tensor || !absl::c_linear_search(order, input.tensor->id)) {
      continue;
    }
    inputs.push_back(*input.tensor);
    values.push_back(Spread(input.dtype, input.dims));
    by_name[input.array] = values.back();
  }
  const std::string name = std::filesystem::path(folder).filename();
  const std::string path = absl::StrCat(testing::TempDir(), "/", name, ".onnx");
  OCANNL_RETURN_IF_ERROR(
      Export(*net.model, outputs, inputs, machine.context, path, {""}));
  OCANNL_ASSIGN_OR_RETURN(
      auto before,
      train::Predictor::Make(*net.model, outputs, inputs, machine.context));
  OCANNL_ASSIGN_OR_RETURN(auto expected, before.PredictAll(values));
  OCANNL_ASSIGN_OR_RETURN(const NamedArrays found,
                          RunFile(path, by_name, {}, "interp"));
  for (size_t k = 0; k < outputs.size(); ++k) {
    ExpectNear(found.at(outputs[k].node().name), expected[k], 2e-6, folder);
  }
  return absl::OkStatus();
}

// Of the node tests of ONNX, transposed convolutions and a diagonal have no
// form. 10 seconds on the interpreter.
TEST(OnnxExportTest, NodeTests) {
  const std::string cases = "/usr/share/libonnx-testdata/data/node";
  if (!std::filesystem::exists(cases)) {
    GTEST_SKIP() << "no " << cases << "; install libonnx-testdata";
  }
  int exported = 0;
  std::vector<std::string> refused;
  for (const auto& entry : std::filesystem::directory_iterator(cases)) {
    const std::string folder = entry.path();
    const auto net = ImportFile(folder + "/model.onnx");
    if (!net.ok()) continue;
    const absl::Status status = ComesBack(*net, folder);
    if (status.ok()) {
      ++exported;
    } else {
      EXPECT_TRUE(absl::IsUnimplemented(status)) << folder << ": " << status;
      refused.push_back(entry.path().filename());
    }
  }
  EXPECT_GE(exported, 693);
  EXPECT_THAT(refused, testing::Each(testing::AnyOf(HasSubstr("convtranspose"),
                                                    HasSubstr("diagonal"))));
}

absl::Status StatusOf(Example& of, const Context& context) {
  return ToOnnx(of.model, of.outputs, of.inputs, context).status();
}

// Each scalar operation, of f32 where it takes that, but for those that are
// listed. 2 seconds.
TEST(OnnxExportTest, Operations) {
  std::vector<std::string> refused;
  for (Op op : AllOps()) {
    const OpInfo& info = Info(op);
    if (op == Op::kConvert || op == Op::kBitcast) continue;
    const bool has_floats = Accepts(info.typing, DType::kF32);
    const DType dtype = has_floats ? DType::kF32 : DType::kU32;
    Example example;
    std::vector<Arg> args;
    for (int k = 0; k < info.arity; ++k) {
      const bool is_bool = info.typing == Typing::kSelect && k == 0;
      NdArray value = Spread(is_bool ? DType::kBool : dtype, {4, 8}, 2 + k);
      args.push_back(example.In(absl::StrCat("x", k), "4|8", value));
    }
    example.outputs = {Named(Pointwise(op, args), "y")};
    if (absl::IsUnimplemented(StatusOf(example, Machine().context))) {
      refused.emplace_back(info.name);
      continue;
    }
    ComesBack(example, std::string(info.name), true, 4e-6);
  }
  EXPECT_THAT(refused, testing::ElementsAre("Rotl", "Atan2", "ThreefryLight",
                                            "ThreefryCrypto"));
  // Floats of 8 bits do not saturate.
  Example cast;
  const Tensor x = cast.In("x", "4|8", Spread(DType::kF32, {4, 8}));
  cast.outputs = {Named(Convert(x * 1e5, DType::kF8E4M3), "y")};
  ComesBack(cast, "f8", true);
}

TEST(OnnxExportTest, RefusalsNameTheTensorAndTheLine) {
  Machine machine;
  Example noise;
  Tensor x = noise.In("x", "2|3", Spread(DType::kF32, {2, 3}));
  noise.outputs = {x + Uniform(noise.model.graph)};
  const absl::Status status = StatusOf(noise, machine.context);
  EXPECT_TRUE(absl::IsUnimplemented(status));
  EXPECT_THAT(status.message(), HasSubstr("onnx_export_test.cc:"));
  EXPECT_THAT(
      status.message(),
      HasSubstr("cannot be exported: ONNX has no operator for threefry"));
}

TEST(OnnxExportTest, InputsAndOutputsAreChecked) {
  Machine machine;
  Example example;
  const Tensor x = example.In("x", "2|3", Spread(DType::kF32, {2, 3}));
  EXPECT_THAT(StatusOf(example, machine.context).message(),
              HasSubstr("there is no output"));
  const Tensor w = Param(example.model.graph, "w", {}, DType::kF32, {});
  const Tensor y = Named(w * x, "y");
  const Tensor bias =
      Data(example.model.graph, "bias", Spread(DType::kF32, {4}),
           {.rows = {Dims{}, Dims{4}, Dims{}}});
  const Tensor z = Named(y + bias, "z");
  example.outputs = {z, z};
  EXPECT_THAT(StatusOf(example, machine.context).message(),
              HasSubstr("`z` is an output twice"));
  example.outputs = {z};
  EXPECT_THAT(StatusOf(example, machine.context).message(), HasSubstr("`w`"));
  ASSERT_THAT(machine.context.Write("w", Spread(DType::kF32, {4, 3}),
                                    Context::Unused::kIsLeft),
              IsOk());
  example.inputs = {x, x};
  EXPECT_THAT(StatusOf(example, machine.context).message(),
              HasSubstr("`x` is an input twice"));
  example.inputs = {y};
  EXPECT_THAT(StatusOf(example, machine.context).message(),
              HasSubstr("`y` is no input of `z`"));
  example.inputs = {};
  EXPECT_THAT(StatusOf(example, machine.context).message(),
              HasSubstr("the input `x` (onnx_export_test.cc:"));
  // The input itself, a parameter and data can be outputs.
  example.inputs = {x};
  example.outputs = {z, x, w, bias};
  auto file =
      ToOnnx(example.model, example.outputs, example.inputs, machine.context);
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(ToString(file->graph.outputs[0]), "f32[batch, 4]");
  EXPECT_EQ(ToString(file->graph.outputs[2]), "f32[4, 3]");
  const auto renamed = [&](std::map<std::string, std::string> names) {
    return ToOnnx(example.model, {z}, {x}, machine.context, {.names = names});
  };
  file = renamed({{"z", "scores"}, {"x", "points"}});
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->graph.inputs[0].name, "points");
  EXPECT_EQ(file->graph.outputs[0].name, "scores");
  EXPECT_THAT(renamed({{"z", "w"}}).status().message(), HasSubstr("is `w` in"));
  EXPECT_THAT(renamed({{"q", "w"}}).status().message(), HasSubstr("no `q` to"));
}

// Rows that depend on each other, or on how many there are, fix the size.
TEST(OnnxExportTest, AnOpenBatchIsOneOfIndependentRows) {
  auto reason = [](const std::function<Tensor(Tensor)>& of) {
    Example example;
    const Tensor x = example.In("x", "4|3", Spread(DType::kF32, {4, 3}));
    example.outputs = {Named(of(x), "y")};
    ComesBack(example, "rows", false);
    Machine machine;
    auto file =
        ToOnnx(example.model, example.outputs, example.inputs, machine.context);
    EXPECT_THAT(file, IsOk());
    return file->metadata["fixed_batch"];
  };
  EXPECT_THAT(reason([](Tensor x) { return Sum(x); }),
              HasSubstr("the batch is reduced"));
  EXPECT_THAT(
      reason([](Tensor x) { return x / EmbedDim(x, {RowKind::kBatch}); }),
      HasSubstr("depends on its size"));
  const NdArray table = Spread(DType::kF32, {4, 3});
  EXPECT_THAT(reason([&](Tensor x) {
                const ShapeSpec spec = {.rows = {Dims{4}, Dims{3}, Dims{}}};
                return x + Data(*x.graph, "table", table, spec);
              }),
              HasSubstr("the batch meets an axis of 4 cells"));
  EXPECT_THAT(reason([](Tensor x) {
                Shape flat;
                flat[RowKind::kOutput] = {12};
                return Reshape(x, flat);
              }),
              HasSubstr("becomes others"));
}

TEST(OnnxExportTest, NamesThatAreNotUtf8AreRefused) {
  Machine machine;
  Example example;
  const Tensor x = example.In("x", "2|3", Spread(DType::kF32, {2, 3}));
  example.outputs = {Named(x + 1, "\xff\xfe")};
  EXPECT_THAT(Export(example.model, example.outputs, example.inputs,
                     machine.context, testing::TempDir() + "/names.onnx")
                  .message(),
              HasSubstr("`\\xff\\xfe` is not UTF-8"));
  EXPECT_FALSE(std::filesystem::exists(testing::TempDir() + "/names.onnx"));
}

}  // namespace
}  // namespace ocannl::onnx
