// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/nets.h"

#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/vision.h"

namespace ocannl {

using train::Training;

MakeNet LeNetOf() {
  return [](const train::ParamScope& scope) -> Net {
    return [net = train::LeNet(scope)](Tensor images, Training*) {
      return net(images);
    };
  };
}

MakeNet CifarConv() {
  return [](const train::ParamScope& scope) -> Net {
    auto conv = [&](absl::string_view name, int64_t channels) {
      return train::ConvBatchNorm(scope / name, {.channels = channels});
    };
    return [first = conv("first", 32), second = conv("second", 32),
            third = conv("third", 64),
            mlp = train::Mlp(scope, {.sizes = {128, 10}})](Tensor x,
                                                           Training* training) {
      x = Relu(second(Relu(first(x, training)), training));
      x = Relu(third(MaxPool2d(x, train::kHalve), training));
      return mlp(MaxPool2d(x, train::kHalve));
    };
  };
}

MakeNet Gpt2Mini(const Gpt2MiniOptions& options) {
  return [=](const train::ParamScope& scope) -> Net {
    const train::DecoderOnly net(scope,
                                 {.vocabulary = options.vocabulary,
                                  .length = options.length,
                                  .layers = options.layers,
                                  .block = {.size = options.size,
                                            .heads = options.heads,
                                            .hidden = 4 * options.size,
                                            .dropout = options.dropout}});
    return [net](Tensor tokens, Training* training) {
      return net(train::As(DType::kI32, tokens), training);
    };
  };
}

}  // namespace ocannl
