// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/vision.h"

#include "absl/strings/str_cat.h"
#include "ocannl/train/blocks/conv.h"

namespace ocannl::train {
namespace {

Conv2dOptions WithoutBias(Conv2dOptions options) {
  options.bias = false;
  return options;
}

}  // namespace

LeNet::LeNet(const ParamScope& scope, const LeNetOptions& options)
    : conv1_(scope / "conv1", {.channels = options.channels1, .kernel = 5}),
      conv2_(scope / "conv2", {.channels = options.channels2,
                               .kernel = 5,
                               .padding = Padding::kValid}),
      mlp_(scope,
           {.sizes = {options.hidden1, options.hidden2, options.classes}}) {}

Tensor LeNet::operator()(Tensor images) const {
  Tensor x = MaxPool2d(Relu(conv1_(images)), kHalve);
  return mlp_(MaxPool2d(Relu(conv2_(x)), kHalve));
}

ConvBatchNorm::ConvBatchNorm(const ParamScope& scope, Conv2dOptions options)
    : conv_(scope / "conv", WithoutBias(std::move(options))),
      norm_(scope / "norm") {}

Tensor ConvBatchNorm::operator()(Tensor x, Training* training) const {
  return norm_(conv_(x), training);
}

ResNetBlock::ResNetBlock(const ParamScope& scope,
                         const ResNetBlockOptions& options)
    : first_(scope / "first",
             {.channels = options.channels, .stride = options.stride}),
      second_(scope / "second", {.channels = options.channels}) {
  if (!options.project && options.stride == 1) return;
  project_.emplace(
      scope / "project",
      Conv2dOptions{
          .channels = options.channels, .kernel = 1, .stride = options.stride});
}

Tensor ResNetBlock::operator()(Tensor x, Training* training) const {
  Tensor f = second_(Relu(first_(x, training)), training);
  return Relu(f + (project_ ? (*project_)(x, training) : x));
}

VggBlock::VggBlock(const ParamScope& scope, const VggBlockOptions& options) {
  for (int64_t k = 1; k <= options.convolutions; ++k) {
    convs_.emplace_back(scope / absl::StrCat("conv", k),
                        Conv2dOptions{.channels = options.channels});
  }
}

Tensor VggBlock::operator()(Tensor x) const {
  for (const Conv2d& conv : convs_) x = Relu(conv(x));
  return MaxPool2d(x, kHalve);
}

}  // namespace ocannl::train
