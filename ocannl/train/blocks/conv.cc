// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/conv.h"

#include <algorithm>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/dims.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/source.h"
#include "ocannl/core/tensor/text.h"
#include "ocannl/train/blocks/call.h"
#include "ocannl/train/blocks/norm.h"
#include "ocannl/train/blocks/wide.h"

namespace ocannl::train {
namespace {

WindowOptions WindowsOf(const Conv2dOptions& options) {
  return {.kernel = options.kernel,
          .stride = options.stride,
          .dilation = options.dilation,
          .padding = options.padding};
}

// The channels that a filter of its own goes over; none: those of x.
std::optional<Dims> DepthwiseChannels(const Conv2dOptions& options) {
  if (options.inputs == 0) return std::nullopt;
  return Dims{options.inputs};
}

Conv2dOptions OneByOne(const Conv2dOptions& options) {
  Conv2dOptions mix = options;
  mix.kernel = mix.stride = mix.dilation = 1;
  return mix;
}

// The two axes of an image that `windows` reads, with window axes kh and kw, as
// a part of a spec.
std::string WindowAxes(const WindowOptions& windows) {
  if (windows.padding.same) {
    return "stride*oh<=+dilation*kh, stride*ow<=+dilation*kw";
  }
  const char* end = windows.ceil ? "<=" : "<";
  return absl::StrCat("top<stride*oh+dilation*kh", end, "bottom, ",
                      "left<stride*ow+dilation*kw", end, "right");
}

EinsumNumbers WindowNumbers(const WindowOptions& windows) {
  const auto& [top, bottom] = windows.padding.height;
  const auto& [left, right] = windows.padding.width;
  return {{"stride", static_cast<double>(windows.stride)},
          {"dilation", static_cast<double>(windows.dilation)},
          {"top", static_cast<double>(top)},
          {"bottom", static_cast<double>(bottom)},
          {"left", static_cast<double>(left)},
          {"right", static_cast<double>(right)}};
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
    std::optional<Dims> rows;
    if (inputs > 0) rows = Dims{options.kernel, options.kernel, inputs};
    return MakeParam(scope, "w", Dims{channels}, rows, options.init.weights,
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
                   options.init.weights, where);
}

// Whether an image of these sizes is likely to have its channels first: as few
// of them as colours, and a square or large image behind them.
bool LooksChannelsFirst(const Dims& image) {
  if (image.size() != 3 || image[0] > 4) return false;
  const int64_t least = std::min(image[1], image[2]);
  return least >= 8 && (image[1] == image[2] || (image[0] >= 3 && least >= 16));
}

// The error of `block`, of `inputs` channels, if `x` is data that looks so.
// What parameters made has the channels of their convolutions.
std::optional<Tensor> ChannelsFirstError(absl::string_view block, Tensor x,
                                         int64_t inputs, SourceLocation where) {
  Graph& graph = *x.graph;
  if (inputs > 0 || x.node().has_gradient) return std::nullopt;
  // Shapes that uses determine are not known yet, and dtypes stay open.
  const Graph::Mark before = graph.mark();
  Shapes shapes;
  const absl::Status inferred = InferShapes(graph, {x.id}, shapes);
  graph.RollBack(before);
  if (!inferred.ok()) return std::nullopt;
  const Dims& image = shapes.at(x.id)[RowKind::kOutput];
  if (!LooksChannelsFirst(image)) return std::nullopt;
  return ErrorTensor(
      graph, CallText(block, "", {&x.node()}),
      absl::StrCat("an image of ", absl::StrJoin(image, ","),
                   " looks like channels,height,width; channels are last "
                   "here: give Einsum1(\"...|c, h, w => ...|h, w, c\", x), or "
                   "if it has ",
                   image[2], " channels indeed, set .inputs = ", image[2]),
      where);
}

Tensor Pool(Op accum, Tensor x, const WindowOptions& windows) {
  const int64_t span = (windows.kernel - 1) * windows.dilation + 1;
  const auto& [same, height, width] = windows.padding;
  const int64_t most =
      std::max({height.before, height.after, width.before, width.after});
  if (most >= std::max<int64_t>(span, 1)) {
    return ErrorTensor(
        *x.graph,
        absl::InvalidArgumentError(absl::StrCat(
            "the padding of ", Describe(x.node()), " is ", most,
            "; it must be smaller than the window, which spans ", span)),
        x.node().where);
  }
  std::string spec =
      absl::StrCat("...|", WindowAxes(windows), ", c => ...|oh, ow, c");
  return WithWindows(
      Reduce(std::nullopt, accum, spec, {x}, WindowNumbers(windows)), windows);
}

// How many cells each window of `pooled` has in `image`, the axes h and w, as
// f32 oh,ow,1.
Tensor CellsInImage(const WindowOptions& windows, Tensor image) {
  const Tensor ones = Einsum1("=> h, w", Number(*image.graph, 1));
  for (const char* axis : {"h", "w"}) {
    CHECK_OK(SetEqual(ones, axis, image, axis));
  }
  const std::string spec = absl::StrCat(WindowAxes(windows), " => oh, ow, 0");
  return WithWindows(Einsum1(spec, ones, WindowNumbers(windows)), windows);
}

// How many cells each window along an axis has in the image and its padding, as
// f32: `size` cells for the windows `o` of `pooled`.
Tensor CellsOnAxis(const WindowOptions& windows, Tensor size, Tensor pooled,
                   absl::string_view o) {
  Graph& graph = *pooled.graph;
  const Tensor steps = Mul(windows.stride, Range(graph, 0, DType::kF32));
  const Tensor cells =
      Mul(windows.dilation, Range(graph, windows.kernel, DType::kF32));
  const Tensor at = OuterSum("o; k => o, k", steps, cells);
  CHECK_OK(SetEqual(at, "o", pooled, o));
  return Einsum1("o, k => o", Select(Less(at, size), 1, 0));
}

Tensor CellsWithPadding(const WindowOptions& windows, Tensor image,
                        Tensor pooled) {
  const auto& [same, height, width] = windows.padding;
  const Tensor rows = CellsOnAxis(
      windows, EmbedDim(image, "h") + (height.before + height.after), pooled,
      "oh");
  const Tensor columns =
      CellsOnAxis(windows, EmbedDim(image, "w") + (width.before + width.after),
                  pooled, "ow");
  return Einsum("h; w => h, w, 0", rows, columns);
}

// How many cells count in each of the windows on x that `sums` are of.
Tensor CountedCells(const WindowOptions& windows, Tensor x, Tensor sums) {
  const Tensor image = Einsum1("...|h, w, c => ...|h, w, c", x);
  const Tensor counts = windows.count_padding
                            ? CellsWithPadding(windows, image, sums)
                            : CellsInImage(windows, image);
  return InDType(counts, sums.node().dtype);
}

}  // namespace

Conv2d::Conv2d(const ParamScope& scope, const Conv2dOptions& options,
               SourceLocation where)
    : windows_(WindowsOf(options)),
      inputs_(options.inputs),
      groups_(options.groups),
      w_(Weights(scope, options, where)) {
  if (groups_ > 1) {
    in_group_ = {{"ins", static_cast<double>(options.inputs / groups_)},
                 {"outs", static_cast<double>(options.channels / groups_)}};
  }
  if (!options.bias) return;
  b_ = MakeParam(scope, "b", Dims{options.channels}, Dims{},
                 options.init.bias(w_), where);
}

Tensor Conv2d::operator()(Tensor x, SourceLocation where) const {
  CallScope call("Conv2d", "", {x}, where);
  const auto error = ChannelsFirstError("Conv2d", x, inputs_, where);
  if (error) return *error;
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
      inputs_(options.inputs),
      depth_(MakeParam(scope, "depth_w", DepthwiseChannels(options),
                       Dims{options.kernel, options.kernel},
                       options.init.weights, where)),
      mix_(scope, OneByOne(options), where) {}

Tensor DepthwiseSeparableConv2d::operator()(Tensor x,
                                            SourceLocation where) const {
  CallScope call("DepthwiseSeparableConv2d", "", {x}, where);
  const auto error =
      ChannelsFirstError("DepthwiseSeparableConv2d", x, inputs_, where);
  if (error) return *error;
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
  x = call.OfFloats(x, where);
  const DType dtype = DecidedDType(x);
  const Tensor sums = Pool(Op::kAdd, Widened(x), windows);
  if (std::holds_alternative<ErrorSource>(sums.node().source)) return sums;
  // Where windows end beyond the padding, their sizes differ.
  const bool beyond = windows.ceil && !windows.padding.same;
  const Tensor means = windows.count_padding && !beyond
                           ? sums / (windows.kernel * windows.kernel)
                           : sums / CountedCells(windows, x, sums);
  return call.Of(InDType(means, dtype));
}

Tensor GlobalAvgPool2d(Tensor x, SourceLocation where) {
  CallScope call("GlobalAvgPool2d", "", {x}, where);
  return call.Of(Mean("...|h, w, c => ...|c", x));
}

}  // namespace ocannl::train
