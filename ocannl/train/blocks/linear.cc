// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/linear.h"

#include "absl/strings/str_cat.h"

namespace ocannl::train {

Linear::Linear(const ParamScope& scope, const LinearOptions& options)
    : w_(MakeParam(scope, "w", options.outputs, std::nullopt, options.init)) {
  if (!options.bias) return;
  b_ = MakeParam(scope, "b", options.outputs, Dims{}, ConstantInit(0));
}

Tensor Linear::operator()(Tensor x) const {
  Tensor product = w_ * x;
  return b_ ? product + *b_ : product;
}

Mlp::Mlp(const ParamScope& scope, const MlpOptions& options) {
  for (int64_t size : options.sizes) {
    layers_.emplace_back(
        scope / absl::StrCat("layer", layers_.size() + 1),
        LinearOptions{.outputs = Dims{size}, .init = options.init});
  }
}

Tensor Mlp::operator()(Tensor x) const {
  for (const Linear& layer : layers_) {
    const bool first = &layer == &layers_.front();
    x = layer(first ? x : Relu(x));
  }
  return x;
}

}  // namespace ocannl::train
