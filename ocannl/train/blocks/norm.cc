// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/norm.h"

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/train/blocks/call.h"
#include "ocannl/train/blocks/init.h"

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

// 1 / sqrt(variance + epsilon), in the type that computes: the epsilon would be
// 0 in f8e4m3.
Tensor InverseDeviation(Tensor variance, double epsilon) {
  const DType dtype = DecidedDType(variance);
  const Tensor wide = InDType(variance, ComputeDType(dtype));
  return InDType(Rsqrt(wide + epsilon), dtype);
}

}  // namespace

Tensor Mean(absl::string_view spec, Tensor x, SourceLocation where) {
  CallScope call("Mean", spec, {x}, where);
  Tensor sum = Einsum1(spec, x);
  return call.Of(sum / InDType(CellsOf(x) / CellsOf(sum), x.node().dtype));
}

LayerNorm::LayerNorm(const ParamScope& scope, double epsilon,
                     SourceLocation where)
    : scale_(FilledParam(scope, "scale", 1, where)),
      shift_(FilledParam(scope, "shift", 0, where)),
      epsilon_(epsilon) {}

Tensor LayerNorm::operator()(Tensor x, SourceLocation where) const {
  CallScope call("LayerNorm", "", {x}, where);
  Tensor centred = x - Mean(kOverOutputs, x);
  Tensor variance = Mean(kOverOutputs, Square(centred));
  const Tensor factor = InverseDeviation(variance, epsilon_);
  return call.Of(Fma(Mul(centred, factor), scale_, shift_));
}

RmsNorm::RmsNorm(const ParamScope& scope, double epsilon, SourceLocation where)
    : scale_(FilledParam(scope, "scale", 1, where)), epsilon_(epsilon) {}

Tensor RmsNorm::operator()(Tensor x, SourceLocation where) const {
  CallScope call("RmsNorm", "", {x}, where);
  Tensor squares = Mean(kOverOutputs, Square(x));
  return call.Of(Mul(Mul(x, InverseDeviation(squares, epsilon_)), scale_));
}

BatchNorm::BatchNorm(const ParamScope& scope, const BatchNormOptions& options,
                     SourceLocation where)
    : scope_(scope),
      options_(options),
      scale_(FilledParam(scope, "scale", 1, where)),
      shift_(FilledParam(scope, "shift", 0, where)),
      mean_(MakeState(scope, "running_mean", std::nullopt, ConstantInit(0),
                      where)),
      variance_(MakeState(scope, "running_variance", std::nullopt,
                          ConstantInit(1), where)) {}

Tensor BatchNorm::Normalise(Tensor centred, Tensor variance) const {
  // Copies of one axis, for the channels not to take other axes of x.
  Tensor scale = Einsum1("c => c", scale_);
  Tensor shift = Einsum1("c => c", shift_);
  Tensor factor = Mul(InverseDeviation(variance, options_.epsilon), scale);
  return Fma(centred, factor, shift);
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
  if (training == kInference) {
    auto state = [&](Tensor t) {
      return InDType(Einsum1("c => c", StopGradient(t)), x.node().dtype);
    };
    Tensor centred = x - state(mean_);
    return call.Of(Normalise(centred, state(variance_)));
  }
  Tensor mean = Mean(kOverChannels, x);
  Tensor centred = x - mean;
  Tensor variance = Mean(kOverChannels, Square(centred));
  for (Tensor kept : {mean, variance}) {
    CHECK(SetMemoryMode(kept, MemoryMode::kMaterialized).ok());
  }
  Tensor n = EmbedDim(x, {RowKind::kBatch, RowKind::kOutput}) /
             EmbedDim(mean, {RowKind::kOutput});
  n = InDType(n, x.node().dtype);
  Tensor unbiased = Mul(variance, n / Max(1, n - 1));
  auto update = [&](Tensor state, Tensor batch) {
    batch = InDType(batch, state.node().dtype);
    Tensor next = Mul(1 - momentum, state) + Mul(momentum, batch);
    training->updates.push_back({.state = state, .value = next});
  };
  update(mean_, mean);
  update(variance_, unbiased);
  return call.Of(Normalise(centred, variance));
}

}  // namespace ocannl::train
