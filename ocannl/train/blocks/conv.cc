// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/conv.h"

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/tensor/dims.h"
#include "ocannl/train/blocks/call.h"
#include "ocannl/train/blocks/norm.h"

namespace ocannl::train {
namespace {

WindowOptions WindowsOf(const Conv2dOptions& options) {
  return {.kernel = options.kernel,
          .stride = options.stride,
          .dilation = options.dilation,
          .padding = options.padding};
}

Conv2dOptions OneByOne(const Conv2dOptions& options) {
  Conv2dOptions mix = options;
  mix.kernel = mix.stride = mix.dilation = 1;
  return mix;
}

// The two axes of an image that `windows` reads, with window axes kh and kw, as
// a part of a spec.
std::string WindowAxes(const WindowOptions& windows) {
  const char* inside = windows.padding == Padding::kValid ? "<" : "";
  return absl::StrCat("stride*oh", inside, "+dilation*kh, stride*ow", inside,
                      "+dilation*kw");
}

EinsumNumbers WindowNumbers(const WindowOptions& windows) {
  return {{"stride", static_cast<double>(windows.stride)},
          {"dilation", static_cast<double>(windows.dilation)}};
}

// `image_map`, an einsum with those axes, whose windows get their size.
Tensor WithWindows(Tensor image_map, const WindowOptions& windows) {
  for (const char* axis : {"kh", "kw"}) {
    absl::Status status = SetDim(image_map, axis, windows.kernel);
    if (status.ok()) continue;
    return ErrorTensor(*image_map.graph, status, image_map.node().where);
  }
  return image_map;
}

Tensor Weights(const ParamScope& scope, const Conv2dOptions& options,
               SourceLocation where) {
  const int64_t groups = options.groups;
  const int64_t inputs = options.inputs;
  const int64_t channels = options.channels;
  if (groups == 1) {
    return MakeParam(scope, "w", Dims{channels}, std::nullopt, options.init,
                     where);
  }
  if (groups < 1 || inputs < 1 || inputs % groups != 0 ||
      channels % groups != 0) {
    return OptionError(
        scope,
        absl::StrCat(groups, " groups of ", inputs, " inputs and ", channels,
                     " channels; give inputs and channels that are multiples "
                     "of the groups"),
        where);
  }
  return MakeParam(scope, "w", Dims{groups, channels / groups},
                   Dims{options.kernel, options.kernel, inputs / groups},
                   options.init, where);
}

Tensor Pool(Op accum, Tensor x, const WindowOptions& windows) {
  std::string spec =
      absl::StrCat("...|", WindowAxes(windows), ", c => ...|oh, ow, c");
  return WithWindows(
      Reduce(std::nullopt, accum, spec, {x}, WindowNumbers(windows)), windows);
}

}  // namespace

Conv2d::Conv2d(const ParamScope& scope, const Conv2dOptions& options,
               SourceLocation where)
    : windows_(WindowsOf(options)),
      groups_(options.groups),
      w_(Weights(scope, options, where)) {
  if (groups_ > 1) {
    in_group_ = {{"ins", static_cast<double>(options.inputs / groups_)},
                 {"outs", static_cast<double>(options.channels / groups_)}};
  }
  if (!options.bias) return;
  b_ = MakeParam(scope, "b", Dims{options.channels}, Dims{}, ConstantInit(0),
                 where);
}

Tensor Conv2d::operator()(Tensor x, SourceLocation where) const {
  CallScope call("Conv2d", "", {x}, where);
  const std::string spec = absl::StrCat(
      "...|", WindowAxes(windows_),
      groups_ == 1 ? ", c; kh, kw, c -> o => ...|oh, ow, o"
                   : ", ins*g<+c; kh, kw, c -> g, o => ...|oh, ow, outs*g<+o");
  EinsumNumbers numbers = WindowNumbers(windows_);
  numbers.insert(in_group_.begin(), in_group_.end());
  Tensor y = WithWindows(Einsum(spec, x, w_, numbers), windows_);
  return call.Of(b_ ? y + *b_ : y);
}

DepthwiseSeparableConv2d::DepthwiseSeparableConv2d(const ParamScope& scope,
                                                   const Conv2dOptions& options,
                                                   SourceLocation where)
    : windows_(WindowsOf(options)),
      depth_(MakeParam(scope, "depth_w", std::nullopt,
                       Dims{options.kernel, options.kernel}, options.init,
                       where)),
      mix_(scope, OneByOne(options), where) {}

Tensor DepthwiseSeparableConv2d::operator()(Tensor x,
                                            SourceLocation where) const {
  CallScope call("DepthwiseSeparableConv2d", "", {x}, where);
  std::string spec = absl::StrCat("...|", WindowAxes(windows_),
                                  ", c; kh, kw -> c => ...|oh, ow, c");
  return call.Of(mix_(
      WithWindows(Einsum(spec, x, depth_, WindowNumbers(windows_)), windows_)));
}

Tensor MaxPool2d(Tensor x, const WindowOptions& windows, SourceLocation where) {
  CallScope call("MaxPool2d", "", {x}, where);
  return call.Of(Pool(Op::kMax, x, windows));
}

Tensor AvgPool2d(Tensor x, const WindowOptions& windows, SourceLocation where) {
  CallScope call("AvgPool2d", "", {x}, where);
  return call.Of(Pool(Op::kAdd, x, windows) /
                 (windows.kernel * windows.kernel));
}

Tensor GlobalAvgPool2d(Tensor x, SourceLocation where) {
  CallScope call("GlobalAvgPool2d", "", {x}, where);
  return call.Of(Mean("...|h, w, c => ...|c", x));
}

}  // namespace ocannl::train
