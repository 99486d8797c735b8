// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/vision.h"

#include "absl/strings/str_cat.h"
#include "ocannl/train/blocks/call.h"
#include "ocannl/train/blocks/conv.h"

namespace ocannl::train {
namespace {

Conv2dOptions WithoutBias(Conv2dOptions options) {
  options.bias = false;
  return options;
}

}  // namespace

LeNet::LeNet(const ParamScope& scope, const LeNetOptions& options,
             SourceLocation where)
    : conv1_(scope / "conv1", {.channels = options.channels1, .kernel = 5},
             where),
      conv2_(scope / "conv2",
             {.channels = options.channels2,
              .kernel = 5,
              .padding = Padding::kValid},
             where),
      mlp_(scope,
           {.sizes = {options.hidden1, options.hidden2, options.classes}},
           where) {}

Tensor LeNet::operator()(Tensor images, SourceLocation where) const {
  CallScope call("LeNet", "", {images}, where);
  Tensor x = MaxPool2d(Relu(conv1_(images)), kHalve);
  return call.Of(mlp_(MaxPool2d(Relu(conv2_(x)), kHalve)));
}

ConvBatchNorm::ConvBatchNorm(const ParamScope& scope, Conv2dOptions options,
                             SourceLocation where)
    : conv_(scope / "conv", WithoutBias(std::move(options)), where),
      norm_(scope / "norm", {}, where) {}

Tensor ConvBatchNorm::operator()(Tensor x, Training* training,
                                 SourceLocation where) const {
  CallScope call("ConvBatchNorm", "", {x}, where);
  return call.Of(norm_(conv_(x), training));
}

ResNetBlock::ResNetBlock(const ParamScope& scope,
                         const ResNetBlockOptions& options,
                         SourceLocation where)
    : first_(scope / "first",
             {.channels = options.channels, .stride = options.stride}, where),
      second_(scope / "second", {.channels = options.channels}, where) {
  if (!options.project && options.stride == 1) return;
  project_.emplace(
      scope / "project",
      Conv2dOptions{
          .channels = options.channels, .kernel = 1, .stride = options.stride},
      where);
}

Tensor ResNetBlock::operator()(Tensor x, Training* training,
                               SourceLocation where) const {
  CallScope call("ResNetBlock", "", {x}, where);
  Tensor f = second_(Relu(first_(x, training)), training);
  return call.Of(Relu(f + (project_ ? (*project_)(x, training) : x)));
}

VggBlock::VggBlock(const ParamScope& scope, const VggBlockOptions& options,
                   SourceLocation where) {
  for (int64_t k = 1; k <= options.convolutions; ++k) {
    convs_.emplace_back(scope / absl::StrCat("conv", k),
                        Conv2dOptions{.channels = options.channels}, where);
  }
}

Tensor VggBlock::operator()(Tensor x, SourceLocation where) const {
  CallScope call("VggBlock", "", {x}, where);
  for (const Conv2d& conv : convs_) x = Relu(conv(x));
  return call.Of(MaxPool2d(x, kHalve));
}

}  // namespace ocannl::train
