// SPDX-License-Identifier: Apache-2.0
//
// Imported models: names, free dimensions, outputs, and parameters that train.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/onnx/import.h"
#include "ocannl/onnx/model.h"
#include "ocannl/onnx/session.h"
#include "ocannl/onnx/write.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/blocks/loss.h"
#include "ocannl/train/optim/rule.h"
#include "ocannl/train/optim/rules.h"
#include "tests/onnx/float_info.h"
#include "tests/support/status_matchers.h"

namespace ocannl::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

NdArray Floats(Dims dims, std::vector<float> values) {
  return NdArray::Of<float>(std::move(dims), values);
}

std::vector<float> CellsOf(const NdArray& array) {
  return {array.values<float>().begin(), array.values<float>().end()};
}

// y = tanh(x w1 + b1) w2 + b2, whose tanh is an output too.
OnnxModel Perceptron() {
  OnnxModel model = {.opsets = {{"", 17}}};
  model.graph.nodes = {
      {.op = "MatMul", .inputs = {"x", "layer.0/w"}, .outputs = {"a"}},
      {.op = "Add", .inputs = {"a", "b1"}, .outputs = {"s"}},
      {.op = "Tanh", .inputs = {"s"}, .outputs = {"hidden"}},
      {.op = "MatMul", .inputs = {"hidden", "w2"}, .outputs = {"p"}},
      {.op = "Add", .inputs = {"p", "b2"}, .outputs = {"y"}}};
  model.graph.initializers = {
      {"layer.0/w", Floats({2, 3}, {.5, -1, .25, 1, .5, -.5})},
      {"b1", Floats({3}, {.1, -.2, .3})},
      {"w2", Floats({3, 1}, {1, -1, .5})},
      {"b2", Floats({1}, {.25})}};
  model.graph.inputs = {FloatInfo("x", {-1, 2})};
  model.graph.outputs = {FloatInfo("y", {-1, 1}), FloatInfo("hidden", {-1, 3})};
  return model;
}

// As a file says it.
OnnxModel Read(const OnnxModel& model) {
  absl::StatusOr<OnnxModel> read = ReadModel(WriteModel(model));
  EXPECT_THAT(read, IsOk());
  return *read;
}

TEST(OnnxImportTest, NamesAndSizesAreThoseOfTheFile) {
  const OnnxModel file = Read(Perceptron());
  EXPECT_EQ(ToString(file.graph.inputs[0]), "f32[batch, 2]");
  auto net = Import(file, {.dims = {{"batch", 4}}});
  ASSERT_THAT(net, IsOk());
  EXPECT_EQ(net->inputs[0].dims, (Dims{4, 2}));
  EXPECT_EQ(net->outputs[0].name, "y");
  EXPECT_EQ(net->outputs[1].dims, (Dims{4, 3}));
  std::vector<std::string> names, arrays;
  for (const NamedTensor& parameter : net->parameters) {
    names.push_back(parameter.name);
    arrays.push_back(parameter.array);
  }
  EXPECT_THAT(names, ElementsAre("b1", "b2", "layer.0/w", "w2"));
  EXPECT_THAT(arrays, ElementsAre("b1", "b2", "layer.0_w", "w2"));
}

TEST(OnnxImportTest, FreeDimensionsNeedSizes) {
  const OnnxModel file = Read(Perceptron());
  EXPECT_THAT(Import(file).status().message(),
              HasSubstr("has the free dimension `batch`"));
  EXPECT_THAT(Import(file, {.dims = {{"bach", 1}}}).status().message(),
              HasSubstr("no free dimension `bach`; it has batch"));
  EXPECT_THAT(Import(file, {.dims = {{"batch", 0}}}).status().message(),
              HasSubstr("give a number above 0"));
}

TEST(OnnxImportTest, OneRoutineComputesAllOutputs) {
  for (const std::string& tier : AvailableTiers()) {
    auto net = Import(Read(Perceptron()), {.dims = {{"batch", 1}}});
    ASSERT_THAT(net, IsOk());
    auto session = Session::Make(*std::move(net), **FindTier(tier));
    ASSERT_THAT(session, IsOk());
    auto outputs = session->Run({{"x", Floats({1, 2}, {0, 0})}});
    ASSERT_THAT(outputs, IsOk());
    EXPECT_THAT(CellsOf(outputs->at("hidden")),
                ElementsAre(testing::FloatNear(0.099668, 1e-6),
                            testing::FloatNear(-0.197375, 1e-6),
                            testing::FloatNear(0.291313, 1e-6)));
    EXPECT_THAT(CellsOf(outputs->at("y")),
                ElementsAre(testing::FloatNear(0.6926995, 1e-6)));
    EXPECT_THAT(session->Run({}).status().message(),
                HasSubstr("input `x` is missing; it is f32[1, 2]"));
    EXPECT_THAT(
        session->Run({{"x", Floats({2, 2}, {0, 0, 0, 0})}}).status().message(),
        HasSubstr("but the value is f32[2, 2]"));
  }
}

TEST(OnnxImportTest, AConditionOnAConstantInputIsDecided) {
  OnnxGraph fast, slow;
  fast.nodes = {{.op = "Relu", .inputs = {"x"}, .outputs = {"f"}}};
  fast.outputs = {FloatInfo("f", {2})};
  slow.nodes = {{.op = "Fancy", .inputs = {"x"}, .outputs = {"s"}}};
  slow.outputs = {FloatInfo("s", {2})};
  OnnxModel model = {.opsets = {{"", 17}}};
  model.graph.nodes = {
      {.op = "Equal", .inputs = {"rate", "usual"}, .outputs = {"is_usual"}},
      {.op = "If",
       .inputs = {"is_usual"},
       .outputs = {"y"},
       .attributes = {{"then_branch", GraphAttribute(fast)},
                      {"else_branch", GraphAttribute(slow)}}}};
  model.graph.initializers = {{"usual", NdArray::Of<int64_t>({}, {16000})}};
  model.graph.inputs = {FloatInfo("x", {2}),
                        {.name = "rate",
                         .dtype_code = CodeOfDType(DType::kI64),
                         .dims = std::vector<Dim>()}};
  model.graph.outputs = {FloatInfo("y", {2})};
  const OnnxModel file = Read(model);
  EXPECT_THAT(Import(file).status().message(), HasSubstr("operator Fancy"));
  EXPECT_THAT(
      Import(file,
             {.constants = {{"rate", NdArray::Of<int64_t>({1}, {16000})}}})
          .status()
          .message(),
      HasSubstr("`rate` is i64[], but its constant is i64[1]"));
  auto net = Import(
      file, {.constants = {{"rate", NdArray::Of<int64_t>({}, {16000})}}});
  ASSERT_THAT(net, IsOk());
  auto session = Session::Make(*std::move(net), **FindTier("interp"));
  ASSERT_THAT(session, IsOk());
  auto outputs = session->Run({{"x", Floats({2}, {-1, 2})}});
  ASSERT_THAT(outputs, IsOk());
  EXPECT_THAT(CellsOf(outputs->at("y")), ElementsAre(0, 2));
}

// ONNX: "It is an error if any of the index values are out of bounds."
TEST(OnnxImportTest, ConstantIdsAreInBounds) {
  const auto import = [](const std::string& op, Dims dims,
                         std::vector<int64_t> ids) {
    OnnxModel model = {.opsets = {{"", 17}}};
    model.graph.nodes = {{.op = op, .inputs = {"x", "ids"}, .outputs = {"y"}}};
    if (op[0] == 'S') model.graph.nodes[0].inputs.push_back("new");
    model.graph.initializers = {
        {"ids", NdArray::Of<int64_t>(std::move(dims), ids)}};
    model.graph.inputs = {FloatInfo("x", {3, 2}), FloatInfo("new", {1, 2})};
    model.graph.outputs = {FloatInfo("y", {-1})};
    return Import(Read(model)).status();
  };
  for (const std::string op : {"Gather", "GatherElements", "ScatterElements"}) {
    EXPECT_THAT(import(op, {1, 2}, {-3, 2}), IsOk()) << op;
    for (int64_t id : {-4, 3}) {
      EXPECT_THAT(import(op, {1, 2}, {0, id}),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           HasSubstr("of an axis of 3 cells; give -3 to 2")))
          << op << id;
    }
  }
  for (const std::string op : {"GatherND", "ScatterND"}) {
    EXPECT_THAT(import(op, {1, 2, 2}, {2, 1, -3, -2}), IsOk()) << op;
    EXPECT_THAT(import(op, {1, 2, 2}, {0, 0, 1, 2}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("the id 2 of an axis of 2 cells")))
        << op;
  }
}

TEST(OnnxImportTest, ATableFollowsTheDimsOfItsInputs) {
  for (const std::string& tier : AvailableTiers()) {
    const Backend& backend = **FindTier(tier);
    auto table = SessionTable::Make(Read(Perceptron()), {}, backend, 2);
    ASSERT_THAT(table, IsOk());
    EXPECT_EQ(table->only(), nullptr);
    for (int64_t batch : {1, 3, 1, 2, 3, 3}) {  // more than it keeps
      const std::map<std::string, NdArray> inputs = {
          {"x", Floats({batch, 2}, std::vector<float>(2 * batch, 0.5))}};
      auto net = Import(Read(Perceptron()), {.dims = {{"batch", batch}}});
      ASSERT_THAT(net, IsOk());
      auto session = Session::Make(*std::move(net), backend);
      ASSERT_THAT(session, IsOk());
      auto wanted = session->Run(inputs);
      auto found = table->Run(inputs);
      ASSERT_THAT(wanted, IsOk());
      ASSERT_THAT(found, IsOk());
      EXPECT_TRUE(SameBits(found->at("y"), wanted->at("y"))) << tier << batch;
      EXPECT_TRUE(SameBits(found->at("hidden"), wanted->at("hidden")));
    }
  }
}

TEST(OnnxImportTest, ATableCompilesOnceForEachDims) {
  auto table =
      SessionTable::Make(Read(Perceptron()), {}, **FindTier("interp"), 2);
  ASSERT_THAT(table, IsOk());
  auto one = table->For({{"x", {1, 2}}});
  ASSERT_THAT(one, IsOk());
  EXPECT_EQ((*one)->outputs()[1].dims, (Dims{1, 3}));
  const auto compiled = [&](int64_t batch) {
    const int64_t before = table->compilations();
    EXPECT_THAT(table->For({{"x", {batch, 2}}}), IsOk());
    return table->compilations() > before;
  };
  EXPECT_FALSE(compiled(1));
  EXPECT_TRUE(compiled(2));
  EXPECT_FALSE(compiled(1));
  EXPECT_TRUE(compiled(3));  // in the place of 2, which was not used last
  EXPECT_FALSE(compiled(1));
  EXPECT_TRUE(compiled(2));
}

TEST(OnnxImportTest, ATableKeepsParametersOfBranchesApart) {
  const auto adds = [](float number) {
    OnnxGraph graph;
    graph.nodes = {{.op = "Add", .inputs = {"x", "w"}, .outputs = {"z"}}};
    graph.initializers = {{"w", Floats({2}, {number, number})}};
    graph.outputs = {FloatInfo("z", {-1, 2})};
    return GraphAttribute(graph);
  };
  OnnxModel model = {.opsets = {{"", 17}}};
  model.graph.nodes = {
      {.op = "Size", .inputs = {"x"}, .outputs = {"size"}},
      {.op = "Equal", .inputs = {"size", "two"}, .outputs = {"is_two"}},
      {.op = "If",
       .inputs = {"is_two"},
       .outputs = {"y"},
       .attributes = {{"then_branch", adds(1)}, {"else_branch", adds(5)}}}};
  model.graph.initializers = {{"two", NdArray::Of<int64_t>({}, {2})}};
  model.graph.inputs = {FloatInfo("x", {-1, 2})};
  model.graph.outputs = {FloatInfo("y", {-1, 2})};
  auto table = SessionTable::Make(model, {}, **FindTier("interp"));
  ASSERT_THAT(table, IsOk());
  for (int64_t rows : {1, 2, 3, 1}) {
    auto outputs = table->Run({{"x", NdArray(DType::kF32, {rows, 2})}});
    ASSERT_THAT(outputs, IsOk());
    EXPECT_THAT(CellsOf(outputs->at("y")), testing::Each(rows == 1 ? 1 : 5));
  }
}

TEST(OnnxImportTest, ATableRefusesWhatTheFileDoesNotAllow) {
  const Backend& backend = **FindTier("interp");
  OnnxModel model = {.opsets = {{"", 17}}};
  model.graph.nodes = {{.op = "Add", .inputs = {"a", "b"}, .outputs = {"y"}}};
  model.graph.inputs = {FloatInfo("a", {-1, 2}), FloatInfo("b", {-1, 2})};
  model.graph.outputs = {FloatInfo("y", {-1, 2})};
  auto table = SessionTable::Make(model, {}, backend);
  ASSERT_THAT(table, IsOk());
  const auto error = [&](std::map<std::string, Dims> dims) {
    return std::string(table->For(dims).status().message());
  };
  EXPECT_THAT(error({{"a", {3, 2}}}), HasSubstr("input `b` is missing"));
  EXPECT_THAT(error({{"a", {3, 2}}, {"b", {4, 2}}}),
              HasSubstr("input `b` is f32[batch, 2], but the value has the "
                        "dims [4, 2], and `batch` is 3"));
  EXPECT_THAT(error({{"a", {3, 5}}, {"b", {3, 2}}}),
              HasSubstr("input `a` is f32[batch, 2]"));
  EXPECT_THAT(error({{"a", {3}}, {"b", {3, 2}}}), HasSubstr("dims [3]"));
  EXPECT_THAT(error({{"a", {0, 2}}, {"b", {0, 2}}}),
              HasSubstr("give a number above 0"));
  EXPECT_THAT(error({{"a", {3, 2}}, {"b", {3, 2}}}), "");

  EXPECT_THAT(
      SessionTable::Make(model, {.dims = {{"b", 1}}}, backend).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dimension `b`")));
  model.graph.nodes[0].op = "Fancy";
  EXPECT_THAT(SessionTable::Make(model, {}, backend).status(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("Fancy")));
}

// Fine-tuning: from the weights of the file to another task.
TEST(OnnxImportTest, ParametersTrain) {
  auto net = Import(Read(Perceptron()), {.dims = {{"batch", 4}}});
  ASSERT_THAT(net, IsOk());
  train::Model& model = *net->model;
  ShapeSpec spec;
  spec.rows = {Dims(), Dims{4, 1}, Dims()};
  const Tensor wanted =
      Data(model.graph, "wanted", Floats({4, 1}, {0, 1, 1, 0}), spec);
  const Tensor loss = train::MeanSquaredError(net->outputs[0].value(), wanted);
  EXPECT_EQ(train::Parameters(model, loss).size(), 4);
  Device device("host", *FindTier("interp"));
  Stream stream(&device);
  const Context context(&stream);
  ASSERT_THAT(context.Write("x", Floats({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}),
                            Context::Unused::kIsLeft),
              IsOk());
  auto step = train::StartTraining(model, loss, Number(model.graph, 0.3),
                                   train::Sgd(), context);
  ASSERT_THAT(step, IsOk());
  ASSERT_THAT(step->Run(), IsOk());
  auto first = step->context().Read(loss.node().name);
  ASSERT_THAT(first, IsOk());
  for (int k = 0; k < 500; ++k) ASSERT_THAT(step->Run(), IsOk());
  auto last = step->context().Read(loss.node().name);
  ASSERT_THAT(last, IsOk());
  // The first loss is that of the file's weights.
  EXPECT_NEAR(first->AsDouble(0), 1.149332, 1e-5);
  EXPECT_LT(last->AsDouble(0), 0.05 * first->AsDouble(0));
  auto weights = step->context().Read("layer.0_w");
  ASSERT_THAT(weights, IsOk());
  EXPECT_FALSE(SameBits(*weights, *net->parameters[2].data));
}

// As some exporters write it: the arrays of the perceptron in Constant nodes,
// the first of them of f16 and transposed. 0.1 seconds.
OnnxModel WithConstants() {
  OnnxModel model = Perceptron();
  const NdArray& w = model.graph.initializers.at("layer.0/w");
  NdArray w1(DType::kF16, {3, 2});  // these values are exact
  for (int64_t k = 0; k < w.size(); ++k) {
    w1.values<F16>()[k % 3 * 2 + k / 3] = F16::Round(w.values<float>()[k]);
  }
  std::vector<Node> nodes = {
      {.op = "Constant",
       .outputs = {"w1_t"},
       .attributes = {{"value", TensorAttribute(w1)}}},
      {.op = "Cast",
       .inputs = {"w1_t"},
       .outputs = {"w1_f32"},
       .attributes = {{"to", WholeAttribute(CodeOfDType(DType::kF32))}}},
      {.op = "Transpose",
       .inputs = {"w1_f32"},
       .outputs = {"layer.0/w"},
       .attributes = {{"perm", WholesAttribute({1, 0})}}}};
  nodes.insert(nodes.end(), model.graph.nodes.begin(), model.graph.nodes.end());
  model.graph.nodes = nodes;
  model.graph.initializers.erase("layer.0/w");
  return model;
}

TEST(OnnxImportTest, WeightsInConstantNodesCanBeParameters) {
  const OnnxModel file = Read(WithConstants());
  auto names = [&](const ImportOptions& options) {
    auto net = Import(file, options);
    EXPECT_THAT(net, IsOk());
    std::vector<std::string> found;
    for (const NamedTensor& parameter : net->parameters) {
      found.push_back(absl::StrCat(parameter.name, " ", Name(parameter.dtype)));
    }
    auto session = Session::Make(*std::move(net), **FindTier("interp"));
    EXPECT_THAT(session, IsOk());
    auto outputs = session->Run({{"x", Floats({1, 2}, {.5, .25})}});
    EXPECT_THAT(outputs, IsOk());
    EXPECT_NEAR(outputs->at("y").AsDouble(0), 1.4517277, 1e-6);
    return found;
  };
  const std::map<std::string, int64_t> dims = {{"batch", 1}};
  EXPECT_THAT(names({.dims = dims}), ElementsAre("b1 f32", "b2 f32", "w2 f32"));
  EXPECT_THAT(names({.dims = dims, .constant_weights = true}),
              ElementsAre("b1 f32", "b2 f32", "w2 f32", "w1_t f16"));
  EXPECT_THAT(names({.dims = dims, .constant_weights = true, .widen = true}),
              ElementsAre("b1 f32", "b2 f32", "w2 f32", "w1_t f32"));
}

// What anything else reads stays narrow.
TEST(OnnxImportTest, WidenedParametersAreThoseThatAreOnlyConverted) {
  OnnxModel model = {.opsets = {{"", 17}}};
  NdArray half(DType::kF16, {2});
  half.values<F16>()[0] = F16::Round(1.5);
  model.graph.initializers = {{"a", half}, {"b", half}, {"c", half}};
  const std::map<std::string, Attribute> to_f32 = {
      {"to", WholeAttribute(CodeOfDType(DType::kF32))}};
  for (const std::string name : {"a", "b", "c"}) {
    model.graph.nodes.push_back({.op = "Cast",
                                 .inputs = {name},
                                 .outputs = {name + "32"},
                                 .attributes = to_f32});
    model.graph.outputs.push_back(FloatInfo(name + "32", {2}));
  }
  model.graph.nodes.push_back(
      {.op = "Neg", .inputs = {"b"}, .outputs = {"b_neg"}});
  model.graph.outputs.push_back({.name = "b_neg"});
  model.graph.outputs.push_back({.name = "c"});
  auto net = Import(Read(model), {.widen = true});
  ASSERT_THAT(net, IsOk());
  EXPECT_EQ(net->parameters[0].dtype, DType::kF32);
  EXPECT_EQ(net->parameters[1].dtype, DType::kF16);
  EXPECT_EQ(net->parameters[2].dtype, DType::kF16);
}

}  // namespace
}  // namespace ocannl::onnx
