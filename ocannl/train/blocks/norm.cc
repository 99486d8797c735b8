// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/norm.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/tensor/open_dtype.h"
#include "ocannl/train/blocks/call.h"
#include "ocannl/train/blocks/init.h"
#include "ocannl/train/blocks/wide.h"

namespace ocannl::train {
namespace {

constexpr absl::string_view kOverOutputs = "...|..v.. => ...|0";
constexpr absl::string_view kOverChannels = "...|..s.., c => |c";

// Of as many cells as its use demands.
Tensor FilledParam(const ParamScope& scope, absl::string_view name,
                   double first, SourceLocation where) {
  return MakeParam(scope, name, std::nullopt, Dims{}, ConstantInit(first),
                   where);
}

Tensor CellsOf(Tensor x) {
  return EmbedDim(x, {RowKind::kBatch, RowKind::kOutput, RowKind::kInput});
}

Tensor InverseDeviation(Tensor variance, double epsilon) {
  return Rsqrt(variance + epsilon);
}

// Running averages move by a share of the difference, which may be less than
// the last place of a narrow float.
ParamScope AveragesIn(ParamScope scope) {
  for (std::optional<DType>* dtype : {&scope.dtype, &scope.kept}) {
    if (*dtype) *dtype = ComputeDType(**dtype);
  }
  return scope;
}

}  // namespace

Tensor Mean(absl::string_view spec, Tensor x, SourceLocation where) {
  CallScope call("Mean", spec, {x}, where);
  x = call.OfFloats(x, where);
  const DType dtype = DecidedDType(x);
  const Tensor wide = Widened(x);
  Tensor sum = Einsum1(spec, wide);
  Tensor n = InDType(CellsOf(wide) / CellsOf(sum), wide.node().dtype);
  return call.Of(InDType(sum / n, dtype));
}

LayerNorm::LayerNorm(const ParamScope& scope, double epsilon,
                     SourceLocation where)
    : scale_(FilledParam(scope, "scale", 1, where)),
      shift_(FilledParam(scope, "shift", 0, where)),
      epsilon_(epsilon) {}

Tensor LayerNorm::operator()(Tensor x, SourceLocation where) const {
  CallScope call("LayerNorm", "", {x}, where);
  const DType dtype = DecidedDType(x);
  const Tensor wide = Widened(x);
  Tensor centred = wide - Mean(kOverOutputs, wide);
  Tensor variance = Mean(kOverOutputs, Square(centred));
  const Tensor factor = InverseDeviation(variance, epsilon_);
  const Tensor normal = Mul(centred, factor);
  const Tensor scale = Widened(scale_, dtype);
  const Tensor shift = Widened(shift_, dtype);
  return call.Of(InDType(Fma(normal, scale, shift), dtype));
}

RmsNorm::RmsNorm(const ParamScope& scope, double epsilon, SourceLocation where)
    : scale_(FilledParam(scope, "scale", 1, where)), epsilon_(epsilon) {}

Tensor RmsNorm::operator()(Tensor x, SourceLocation where) const {
  CallScope call("RmsNorm", "", {x}, where);
  const DType dtype = DecidedDType(x);
  const Tensor wide = Widened(x);
  Tensor squares = Mean(kOverOutputs, Square(wide));
  const Tensor normal = Mul(wide, InverseDeviation(squares, epsilon_));
  const Tensor scale = Widened(scale_, dtype);
  return call.Of(InDType(Mul(normal, scale), dtype));
}

BatchNorm::BatchNorm(const ParamScope& scope, const BatchNormOptions& options,
                     SourceLocation where)
    : scope_(scope),
      options_(options),
      scale_(FilledParam(scope, "scale", 1, where)),
      shift_(FilledParam(scope, "shift", 0, where)),
      mean_(MakeState(AveragesIn(scope), "running_mean", std::nullopt,
                      ConstantInit(0), where)),
      variance_(MakeState(AveragesIn(scope), "running_variance", std::nullopt,
                          ConstantInit(1), where)) {}

Tensor BatchNorm::Normalise(Tensor centred, Tensor variance,
                            DType dtype) const {
  // Copies of one axis, for the channels not to take other axes of x.
  Tensor scale = Einsum1("c => c", Widened(scale_, dtype));
  Tensor shift = Einsum1("c => c", Widened(shift_, dtype));
  Tensor factor = Mul(InverseDeviation(variance, options_.epsilon), scale);
  return InDType(Fma(centred, factor, shift), dtype);
}

Tensor BatchNorm::operator()(Tensor x, Training* training,
                             SourceLocation where) const {
  CallScope call("BatchNorm", "", {x}, where);
  const double momentum = options_.momentum;
  if (!(momentum >= 0 && momentum <= 1)) {
    return OptionError(scope_,
                       absl::StrCat("momentum is ", NumberText(momentum),
                                    "; it must be in [0, 1]"),
                       where);
  }
  const DType dtype = DecidedDType(x);
  const Tensor wide = Widened(x);
  for (const Tensor& state : {mean_, variance_}) {
    DecideDType(*state.graph, state.id, wide.node().dtype);
  }
  if (training == kInference) {
    auto state = [&](Tensor t) {
      return InDType(Einsum1("c => c", StopGradient(t)), wide.node().dtype);
    };
    Tensor centred = wide - state(mean_);
    return call.Of(Normalise(centred, state(variance_), dtype));
  }
  Tensor mean = Mean(kOverChannels, wide);
  Tensor centred = wide - mean;
  Tensor variance = Mean(kOverChannels, Square(centred));
  for (Tensor kept : {mean, variance}) {
    CHECK(SetMemoryMode(kept, MemoryMode::kMaterialized).ok());
  }
  Tensor n = EmbedDim(x, {RowKind::kBatch, RowKind::kOutput}) /
             EmbedDim(mean, {RowKind::kOutput});
  n = InDType(n, wide.node().dtype);
  Tensor unbiased = Mul(variance, n / Max(1, n - 1));
  auto update = [&](Tensor state, Tensor batch) {
    batch = InDType(batch, state.node().dtype);
    Tensor next = Mul(1 - momentum, state) + Mul(momentum, batch);
    training->updates.push_back({.state = state, .value = next});
  };
  update(mean_, mean);
  update(variance_, unbiased);
  return call.Of(Normalise(centred, variance, dtype));
}

}  // namespace ocannl::train
