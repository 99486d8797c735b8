// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/vision.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/number_text.h"
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
                             const BatchNormOptions& norm, SourceLocation where)
    : conv_(scope / "conv", WithoutBias(std::move(options)), where),
      norm_(scope / "norm", norm, where) {}

Tensor ConvBatchNorm::operator()(Tensor x, Training* training,
                                 SourceLocation where) const {
  CallScope call("ConvBatchNorm", "", {x}, where);
  return call.Of(norm_(conv_(x), training));
}

ResNetBlock::ResNetBlock(const ParamScope& scope,
                         const ResNetBlockOptions& options,
                         SourceLocation where)
    : first_(scope / "first",
             {.channels = options.channels,
              .stride = options.stride,
              .padding = 1},
             options.norm, where),
      second_(scope / "second", {.channels = options.channels}, options.norm,
              where) {
  if (!options.project && options.stride == 1) return;
  project_.emplace(scope / "project",
                   Conv2dOptions{.channels = options.channels,
                                 .kernel = 1,
                                 .stride = options.stride,
                                 .padding = 0},
                   options.norm, where);
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

MobileCnn::MobileCnn(const ParamScope& scope, const MobileCnnOptions& options,
                     SourceLocation where)
    : scope_(scope),
      width_(options.width),
      logits_(scope / "logits", {.outputs = Dims{options.classes}}, where) {
  auto scaled = [&](int64_t channels) {
    const double count = width_ * static_cast<double>(channels);
    return std::max<int64_t>(1, std::llround(count));
  };
  auto add = [&](absl::string_view name, const Conv2dOptions& conv) {
    convs_.emplace_back(scope / name, conv, options.norm, where);
  };
  int64_t inputs = scaled(options.stem);
  add("stem", {.channels = inputs, .stride = 2, .padding = 1});
  for (size_t k = 0; k < options.layers.size(); ++k) {
    const auto& [layer_channels, stride] = options.layers[k];
    const std::string layer = absl::StrCat("layer", k + 1);
    add(layer + "_depth", {.channels = inputs,
                           .stride = stride,
                           .padding = 1,
                           .groups = inputs,
                           .inputs = inputs});
    inputs = scaled(layer_channels);
    add(layer + "_mix", {.channels = inputs, .kernel = 1});
  }
}

Tensor MobileCnn::operator()(Tensor images, Training* training,
                             SourceLocation where) const {
  CallScope call("MobileCnn", "", {images}, where);
  if (!(width_ > 0)) {
    return OptionError(scope_,
                       absl::StrCat("the width is ", NumberText(width_),
                                    "; it must be above 0"),
                       where);
  }
  Tensor x = images;
  for (const ConvBatchNorm& conv : convs_) x = Relu(conv(x, training));
  return call.Of(logits_(GlobalAvgPool2d(x)));
}

SokobanCnn::SokobanCnn(const ParamScope& scope,
                       const SokobanCnnOptions& options, SourceLocation where)
    : hidden_(scope / "hidden", {.outputs = Dims{options.hidden}}, where),
      actions_(scope / "actions", {.outputs = Dims{options.actions}}, where),
      value_(scope / "value", {.outputs = Dims{1}}, where) {
  for (int64_t channels : options.channels) {
    convs_.emplace_back(scope / absl::StrCat("conv", convs_.size() + 1),
                        Conv2dOptions{.channels = channels}, options.norm,
                        where);
  }
}

SokobanCnn::Result SokobanCnn::operator()(Tensor grids, Training* training,
                                          SourceLocation where) const {
  CallScope call("SokobanCnn", "", {grids}, where);
  Tensor x = grids;
  for (const ConvBatchNorm& conv : convs_) x = Relu(conv(x, training));
  x = Relu(hidden_(x));
  return {.actions = call.Of(actions_(x)), .value = call.Of(value_(x))};
}

}  // namespace ocannl::train
