// SPDX-License-Identifier: Apache-2.0
#include "tests/blocks/block_check.h"

#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/ops/number.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/graph/model.h"
#include "tests/agree/all_tiers.h"
#include "tests/blocks/dual_code.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

// A block applied to the parameter "x", all of whose axes are output axes, with
// the first ones moved to the batch row.
struct Applied {
  train::Model model;
  Tensor x;
  Tensor result;
};

std::unique_ptr<Applied> MakeApplied(const Dims& batch, const Dims& outputs,
                                     DType dtype, const ApplyBlock& apply) {
  auto applied = std::make_unique<Applied>();
  train::ParamScope scope{
      .graph = &applied->model.graph, .name = "", .dtype = dtype};
  Dims dims = batch;
  absl::c_copy(outputs, std::back_inserter(dims));
  Tensor x = MakeParam(scope, "x", dims, Dims{}, nullptr);
  std::string axes;
  for (size_t k = 0; k < dims.size(); ++k) axes += static_cast<char>('a' + k);
  applied->x = x;
  Tensor moved =
      Einsum1(absl::StrCat(axes, " => ", axes.substr(0, batch.size()), "|",
                           axes.substr(batch.size())),
              x);
  applied->result = Named(apply(scope, moved), "result");
  return applied;
}

// The sum of the cells of the result, each with another weight.
Tensor WeightedSum(Applied& applied, std::mt19937& random) {
  train::Model& model = applied.model;
  CHECK_OK(InferShapes(model.graph, {applied.result.id}, model.shapes));
  const Shape& shape = model.shapes.at(applied.result.id);
  const DType dtype = applied.result.node().dtype;
  NdArray weights(dtype, shape.dims());
  VisitDType(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (T& weight : weights.values<T>()) {
      double number = std::uniform_real_distribution(-1., 1.)(random);
      weight = number::Convert<T>(number);
    }
  });
  Tensor data = Data(model.graph, "weights", std::move(weights), SpecOf(shape));
  return Einsum1("...|...->... => |0", Mul(applied.result, data));
}

// The code of the loss and its gradients, those of the parameters kept.
Assignments GradientsOf(train::Model& model, Tensor loss) {
  absl::StatusOr<Assignments> code = train::GradUpdate(model, loss);
  CHECK_OK(code);
  for (Tensor p : train::Parameters(model, loss)) {
    for (Array& array : code->arrays) {
      if (array.name != absl::StrCat(p.node().name, ".grad")) continue;
      array.memory = {MemoryMode::kOnDevice, "the test"};
    }
  }
  return *std::move(code);
}

NdArray Read(const Context& context, const std::string& name) {
  absl::StatusOr<NdArray> array = context.Read(name);
  CHECK_OK(array);
  return *std::move(array);
}

Routine Run(const Context& context, const Assignments& code,
            const std::vector<int64_t>& statics) {
  absl::StatusOr<Routine> routine = ToRoutine(context, code, {});
  CHECK_OK(routine);
  for (size_t k = 0; k < code.statics.size(); ++k) {
    absl::StatusOr<StaticRef> index = routine->Static(code.statics[k].name);
    if (index.ok()) {
      CHECK_OK(index->Set(k < statics.size() ? statics[k] : kStaticOfDuals));
    }
  }
  CHECK_OK(routine->Run());
  return *std::move(routine);
}

std::vector<Dual> Duals(const NdArray& array) {
  std::vector<Dual> duals(array.size());
  for (int64_t k = 0; k < array.size(); ++k) {
    duals[k].value = array.AsDouble(k);
  }
  return duals;
}

// Derivatives in one direction of the parameter `p` alone.
void ExpectSlope(const Assignments& forward, const DualArrays& values,
                 Tensor loss, const std::string& p, const NdArray& gradient,
                 std::mt19937& random) {
  DualArrays arrays = values;
  if (absl::StartsWith(p, "running_")) {  // a state, not to be trained
    for (const Dual& cell : Duals(gradient)) EXPECT_EQ(cell.value, 0) << p;
    return;
  }
  double expected = 0;
  double magnitude = 0;
  for (int64_t k = 0; k < gradient.size(); ++k) {
    const double slope = std::uniform_real_distribution(-1., 1.)(random);
    arrays.at(p)[k].slope = slope;
    expected += slope * gradient.AsDouble(k);
    magnitude += std::abs(slope * gradient.AsDouble(k));
  }
  RunDual(forward, arrays);
  const double actual = arrays.at(loss.node().name)[0].slope;
  EXPECT_NEAR(actual, expected, 1e-9 * magnitude + 1e-13) << p;
}

// The array `name` when `code`, which uses the block, has run for `inputs`.
std::vector<float> ArrayAfter(Applied& applied, const Assignments& code,
                              const BlockInputs& inputs,
                              const std::string& name) {
  train::Model& model = applied.model;
  absl::StatusOr<Assignments> init = train::InitParams(model, applied.result);
  CHECK_OK(init);
  TestDevice host;
  auto write = [&](Tensor p, const std::vector<double>& numbers) {
    NdArray array =
        NdArray::Of<float>(model.shapes.at(p.id).dims(),
                           std::vector<float>(numbers.begin(), numbers.end()));
    CHECK_OK(host.context.Write(p.node().name, array));
  };
  write(applied.x, inputs.x);
  Run(host.context, *init, inputs.statics);
  for (Tensor p : train::AllParameters(model, applied.result)) {
    auto given = inputs.given.find(p.node().name);
    if (given != inputs.given.end()) write(p, given->second);
  }
  Run(host.context, code, inputs.statics);
  NdArray result = Read(host.context, name);
  absl::Span<const float> values = result.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

std::string ShapesOf(const Dims& batch, const Dims& outputs,
                     const ApplyBlock& apply) {
  auto applied = MakeApplied(batch, outputs, DType::kF32, apply);
  train::Model& model = applied->model;
  absl::Status status =
      InferShapes(model.graph, {applied->result.id}, model.shapes);
  if (!status.ok()) return std::string(status.message());
  std::string text;
  for (Tensor p : train::AllParameters(model, applied->result)) {
    if (p.id == applied->x.id) continue;
    absl::StrAppend(&text, p.node().name, ":", ToString(model.shapes.at(p.id)),
                    " ");
  }
  return absl::StrCat(text, "=> ",
                      ToString(model.shapes.at(applied->result.id)));
}

void ExpectGradient(const Dims& batch, const Dims& outputs,
                    const ApplyBlock& apply) {
  std::mt19937 random(1);
  auto applied = MakeApplied(batch, outputs, DType::kF64, apply);
  train::Model& model = applied->model;
  Tensor loss = WeightedSum(*applied, random);
  absl::StatusOr<Assignments> forward = train::Forward(model, loss);
  CHECK_OK(forward);
  model.computed_by = {};
  Assignments gradients = GradientsOf(model, loss);
  TestDevice host;
  CHECK_OK(host.context.Write(
      "x", NdArray(DType::kF64, model.shapes.at(applied->x.id).dims())));
  absl::StatusOr<Assignments> init = train::InitParams(model, loss);
  CHECK_OK(init);
  Run(host.context, *init, {});
  DualArrays values;
  for (Tensor p : train::AllParameters(model, loss)) {
    NdArray array = Read(host.context, p.node().name);
    const double size = p.id == applied->x.id ? 1 : 0.3;
    for (double& value : array.values<double>()) {
      value += std::uniform_real_distribution(-size, size)(random);
    }
    CHECK_OK(host.context.Write(p.node().name, array));
    values[p.node().name] = Duals(array);
  }
  for (const Array& array : forward->arrays) {
    if (array.data) values[array.name] = Duals(*array.data);
  }
  Run(host.context, gradients, {});
  int gradient_count = 0;
  for (Tensor p : train::Parameters(model, loss)) {
    absl::StatusOr<NdArray> gradient =
        host.context.Read(absl::StrCat(p.node().name, ".grad"));
    if (!gradient.ok()) continue;
    ++gradient_count;
    ExpectSlope(*forward, values, loss, p.node().name, *gradient, random);
  }
  EXPECT_GT(gradient_count, 0);
}

void ExpectSameBits(const Dims& batch, const Dims& outputs,
                    const ApplyBlock& apply) {
  std::mt19937 random(1);
  auto applied = MakeApplied(batch, outputs, DType::kF32, apply);
  Tensor loss = WeightedSum(*applied, random);
  CHECK_OK(SetMemoryMode(applied->result, MemoryMode::kMaterialized));
  absl::StatusOr<LoopProgram> program =
      CompileProgram(GradientsOf(applied->model, loss), {});
  CHECK_OK(program);
  EXPECT_TRUE(fuzz::TiersAgree(*program));
}

std::vector<float> ValuesOf(const Dims& batch, const Dims& outputs,
                            const BlockInputs& inputs,
                            const ApplyBlock& apply) {
  auto applied = MakeApplied(batch, outputs, DType::kF32, apply);
  absl::StatusOr<Assignments> forward =
      train::Forward(applied->model, applied->result);
  CHECK_OK(forward);
  return ArrayAfter(*applied, *forward, inputs, applied->result.node().name);
}

std::vector<float> GradientOf(const Dims& batch, const Dims& outputs,
                              const BlockInputs& inputs,
                              const ApplyBlock& apply) {
  auto applied = MakeApplied(batch, outputs, DType::kF32, apply);
  Tensor sum = Einsum1("...|...->... => |0", applied->result);
  return ArrayAfter(*applied, GradientsOf(applied->model, sum), inputs,
                    "x.grad");
}

std::vector<float> WeightedGradientOf(const Dims& batch, const Dims& outputs,
                                      const BlockInputs& inputs,
                                      const ApplyBlock& apply) {
  auto applied = MakeApplied(batch, outputs, DType::kF32, apply);
  train::Model& model = applied->model;
  CHECK_OK(InferShapes(model.graph, {applied->result.id}, model.shapes));
  const Shape& shape = model.shapes.at(applied->result.id);
  NdArray weights(DType::kF32, shape.dims());
  std::mt19937 random(1);
  for (float& weight : weights.values<float>()) {
    const float sign = random() % 2 == 0 ? 1.F : -1.F;
    weight = std::ldexp(sign, -static_cast<int>(random() % 3));
  }
  Tensor data = Data(model.graph, "weights", std::move(weights), SpecOf(shape));
  Tensor sum = Einsum1("...|...->... => |0", Mul(applied->result, data));
  return ArrayAfter(*applied, GradientsOf(model, sum), inputs, "x.grad");
}

}  // namespace ocannl
