// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/linear.h"

#include "absl/strings/str_cat.h"
#include "ocannl/train/blocks/call.h"

namespace ocannl::train {

Linear::Linear(const ParamScope& scope, const LinearOptions& options,
               SourceLocation where)
    : w_(MakeParam(scope, "w", options.outputs, std::nullopt,
                   options.init.weights, where)) {
  if (!options.bias) return;
  b_ = MakeParam(scope, "b", options.outputs, Dims{}, options.init.bias(w_),
                 where);
}

Tensor Linear::operator()(Tensor x, SourceLocation where) const {
  CallScope call("Linear", "", {x}, where);
  Tensor product = w_ * x;
  return call.Of(b_ ? product + *b_ : product);
}

Mlp::Mlp(const ParamScope& scope, const MlpOptions& options,
         SourceLocation where) {
  for (int64_t size : options.sizes) {
    layers_.emplace_back(
        scope / absl::StrCat("layer", layers_.size() + 1),
        LinearOptions{.outputs = Dims{size}, .init = options.init}, where);
  }
}

Tensor Mlp::operator()(Tensor x, SourceLocation where) const {
  CallScope call("Mlp", "", {x}, where);
  for (const Linear& layer : layers_) {
    const bool first = &layer == &layers_.front();
    x = layer(first ? x : Relu(x));
  }
  return call.Of(x);
}

}  // namespace ocannl::train
