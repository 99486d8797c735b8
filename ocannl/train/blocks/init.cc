// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/init.h"

#include <bit>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::train {
namespace {

// random * sqrt(scale_sq / (fan_in + outputs * fan_out)), in f32. The fans are
// those of the parameter, or of `fan_of`.
template <class Random>
Initializer Scaled(absl::string_view name, Random random, double scale_sq,
                   int64_t outputs, std::optional<Tensor> fan_of = {}) {
  const Initializer make = [=](Tensor param) {
    Tensor fan = EmbedDim(fan_of.value_or(param), {RowKind::kInput});
    if (outputs > 0) {
      fan = fan + Mul(outputs, EmbedDim(param, {RowKind::kOutput}));
    }
    return InDType(Mul(random(*param.graph), Sqrt(scale_sq / fan)),
                   param.node().dtype);
  };
  if (fan_of) return make;
  return NamedInit{absl::StrCat(name, " ", scale_sq, " ", outputs), make};
}

// In [-1, 1).
Tensor Centred(Graph& graph) { return Mul(2, Uniform(graph)) - 1; }

Tensor Standard(Graph& graph) { return Normal(graph); }

}  // namespace

Initializer KaimingUniform() { return Scaled("uniform", Centred, 6, 0); }

Initializer KaimingNormal() { return Scaled("normal", Standard, 2, 0); }

Initializer XavierUniform(int64_t window) {
  return Scaled("uniform", Centred, 6, window);
}

Initializer XavierNormal(int64_t window) {
  return Scaled("normal", Standard, 2, window);
}

Initializer NormalInit(double standard_deviation) {
  const Initializer make = [=](Tensor param) {
    return InDType(Mul(Normal(*param.graph), standard_deviation),
                   param.node().dtype);
  };
  const auto bits = std::bit_cast<uint64_t>(standard_deviation);
  return NamedInit{absl::StrCat("normal of ", bits), make};
}

Initializer ConstantInit(double value) {
  return [=](Tensor param) {
    return InDType(Number(*param.graph, value), param.node().dtype);
  };
}

BiasInitializer ZeroBias() {
  return [](Tensor) { return ConstantInit(0); };
}

BiasInitializer TorchBias() {
  return
      [](Tensor weights) { return Scaled("uniform", Centred, 1, 0, weights); };
}

LayerInit TorchLinear() {
  return {Scaled("uniform", Centred, 1, 0), TorchBias()};
}

LayerInit TorchConv() { return TorchLinear(); }

}  // namespace ocannl::train
