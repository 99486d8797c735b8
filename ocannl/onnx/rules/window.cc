// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/onnx/rules/rules.h"
#include "ocannl/onnx/rules/select.h"

namespace ocannl::onnx {
namespace {

// How specs place windows on an axis.
enum class Fit { kFloor, kCeil, kSame, kExact };

// The windows along one axis of an image: `cells` of them.
struct Window {
  int64_t kernel, stride, dilation, before, behind, cells;
  Fit fit = Fit::kFloor;

  int64_t span() const { return (kernel - 1) * dilation + 1; }
  // The cells that all windows reach.
  int64_t reach() const { return stride * (cells - 1) + span(); }
  // The axis as a spec says it, for windows `o` with cells `k`.
  std::string Axis(const std::string& o, const std::string& k) const {
    const std::string at = absl::StrCat(stride, "*", o);
    const std::string inside = absl::StrCat("+", dilation, "*", k);
    if (fit == Fit::kExact) return absl::StrCat(at, "<", inside);
    if (fit == Fit::kSame) return absl::StrCat(at, "<=", inside);
    const char* end = fit == Fit::kCeil ? "<=" : "<";
    return absl::StrCat(before, "<", at, inside, end, behind);
  }
};

// The windows on the axes of `x` from the third on.
std::vector<Window> WindowsOf(const OpCall& call, const Value& x,
                              const Dims& kernel) {
  Require(x.rank() == static_cast<int>(kernel.size()) + 2, "windows of ",
          kernel.size(), " axes on an input of ", x.rank(), " axes");
  const std::string pad = call.Text("auto_pad", "NOTSET");
  const Numbers ones(kernel.size(), 1);
  const Numbers strides = call.Wholes("strides", ones);
  const Numbers dilations = call.Wholes("dilations", ones);
  const Numbers pads = call.Wholes("pads", Numbers(2 * kernel.size(), 0));
  std::vector<Window> windows;
  for (size_t k = 0; k < kernel.size(); ++k) {
    Window window = {.kernel = kernel[k],
                     .stride = strides[k],
                     .dilation = dilations[k],
                     .before = pads[k],
                     .behind = pads[k + kernel.size()],
                     .cells = 0};
    const int64_t size = x.dim(k + 2);
    for (int64_t number : {window.kernel, window.stride, window.dilation}) {
      Require(number > 0 && number < (1 << 24), "a window with ", number);
    }
    for (int64_t number : {window.before, window.behind}) {
      Require(std::abs(number) < (1 << 24), "a padding of ", number);
    }
    if (absl::StartsWith(pad, "SAME")) {
      window.cells = (size + window.stride - 1) / window.stride;
      const int64_t all = std::max<int64_t>(0, window.reach() - size);
      window.before = pad == "SAME_LOWER" ? all - all / 2 : all / 2;
      window.behind = all - window.before;
      if (pad == "SAME_UPPER") window.fit = Fit::kSame;
    } else {
      const int64_t free = size + window.before + window.behind - window.span();
      const bool ceil = call.Whole("ceil_mode", 0) != 0;
      if (ceil) window.fit = Fit::kCeil;
      const int64_t up = ceil ? window.stride - 1 : 0;
      Require(free + up >= 0, "a window of ", window.span(), " cells on ",
              size + window.before + window.behind, " cells with padding");
      window.cells = (free + up) / window.stride + 1;
      // A window that is there by rounding up begins in the image.
      if (ceil && (window.cells - 1) * window.stride >= size + window.before) {
        --window.cells;
      }
    }
    windows.push_back(window);
  }
  return windows;
}

// The axes of the image, of its windows and of their cells.
struct WindowAxes {
  Axes image, cells, kernel;
  NameSizes sizes;
};

WindowAxes AxesOf(const std::vector<Window>& windows) {
  WindowAxes axes;
  for (size_t k = 0; k < windows.size(); ++k) {
    const std::string o = absl::StrCat("o", k), i = absl::StrCat("k", k);
    axes.image.push_back(windows[k].Axis(o, i));
    axes.cells.push_back(o);
    axes.kernel.push_back(i);
    axes.sizes.emplace(o, windows[k].cells);
    axes.sizes.emplace(i, windows[k].kernel);
  }
  return axes;
}

Axes Join(Axes front, const Axes& rest) {
  front.insert(front.end(), rest.begin(), rest.end());
  return front;
}

// accum over each window, of each channel by itself.
Value Pool(const Value& x, const std::vector<Window>& windows, Op accum) {
  const WindowAxes axes = AxesOf(windows);
  return Reduce({}, accum, {{x, Join({"n", "c"}, axes.image)}},
                Join({"n", "c"}, axes.cells), axes.sizes);
}

// What is cut off at both ends of a transposed convolution, or put there if it
// is negative, when its windows reach `reach` cells.
struct Cut {
  int64_t before, behind;
};

Cut CutOf(const OpCall& call, int axis, int axes, int64_t reach, int64_t stride,
          int64_t size) {
  const Numbers none(2 * axes, 0);
  const Numbers pads = call.Wholes("pads", none);
  const int64_t more = call.Wholes("output_padding", none)[axis];
  const std::string pad = call.Text("auto_pad", "NOTSET");
  const Numbers given = call.Wholes("output_shape", {});
  if (given.empty() && !absl::StartsWith(pad, "SAME")) {
    return {pads[axis], pads[axis + axes] - more};
  }
  const int64_t wanted = given.empty() ? size * stride : given[axis];
  const int64_t all = reach + more - wanted;
  const int64_t half = all >> 1;  // towards less
  const int64_t before = pad == "SAME_UPPER" ? half : all - half;
  return {before, all - before - more};
}

absl::StatusOr<Outputs> ConvTransposeRule(const OpCall& call) {
  const Value &x = call[0], &w = call[1];
  if (call.Whole("group", 1) != 1) {
    return absl::UnimplementedError("groups of a transposed convolution");
  }
  Numbers ones(x.rank() - 2, 1);
  const Numbers strides = call.Wholes("strides", ones);
  const Numbers dilations = call.Wholes("dilations", ones);
  std::vector<Window> windows;
  for (int k = 0; k < x.rank() - 2; ++k) {
    windows.push_back({.kernel = w.dim(k + 2),
                       .stride = strides[k],
                       .dilation = dilations[k],
                       .before = 0,
                       .behind = 0,
                       .cells = x.dim(k + 2),
                       .fit = Fit::kExact});
  }
  const WindowAxes axes = AxesOf(windows);
  Value y = Product(
      {{x, Join({"n", "c"}, axes.cells)}, {w, Join({"c", "j"}, axes.kernel)}},
      Join({"n", "j"}, axes.image), axes.sizes);
  for (int k = 0; k < x.rank() - 2; ++k) {
    const Cut cut = CutOf(call, k, x.rank() - 2, windows[k].reach(),
                          windows[k].stride, x.dim(k + 2));
    y = Pad(y, k + 2, -cut.before, -cut.behind);
  }
  return call.Has(2) ? y + Along(call[2], 1, x.rank()) : y;
}

// Where in memory each cell of `x` lies, counted from 1; of column-major memory
// the last two axes are exchanged.
Value PlacesOf(const OpCall& call, const Value& x) {
  const Value places = Iota(call.graph(), NumElements(x.dims)) + 1.0;
  if (call.Whole("storage_order", 0) == 0) return Reshape(places, x.dims);
  Dims dims = x.dims;
  Numbers back = AxesFrom(0, x.rank());
  std::swap(dims[x.rank() - 1], dims[x.rank() - 2]);
  std::swap(back[x.rank() - 1], back[x.rank() - 2]);
  return Transpose(Reshape(places, dims), back);
}

// The greatest cells of windows, and where each lies: of several, the first.
absl::StatusOr<Outputs> MaxPoolRule(const OpCall& call) {
  const Value& x = call[0];
  const std::vector<Window> windows =
      WindowsOf(call, x, call.Wholes("kernel_shape", {}));
  const Value greatest = Pool(x, windows, Op::kMax);
  if (call.node.outputs.size() == 1) return greatest;
  const WindowAxes axes = AxesOf(windows);
  const Axes result = Join({"n", "c"}, axes.cells);
  // Outside of the image is what `accum` begins with.
  auto apart = [&](const Value& cells, Op accum) {
    return Reduce({}, accum, {{cells, Join({"n", "c"}, axes.image)}},
                  Join(result, axes.kernel), axes.sizes);
  };
  Dims dims = greatest.dims;
  dims.resize(dims.size() + windows.size(), 1);
  const Value is_greatest = Equal(apart(x, Op::kMax), Reshape(greatest, dims));
  // The place from the end: the greatest is the first.
  const double size = static_cast<double>(NumElements(x.dims));
  const Value from_end =
      Select(is_greatest, size + 1 - apart(PlacesOf(call, x), Op::kAdd), 0);
  const Value found =
      Reduce({}, Op::kMax, {{from_end, Join(result, axes.kernel)}}, result);
  return Outputs{greatest, size - found};
}

// Each cell to its place, in images as large as its windows reach; then more
// cells behind.
absl::StatusOr<Outputs> MaxUnpoolRule(const OpCall& call) {
  const Value& x = call[0];
  const Numbers kernel = call.Wholes("kernel_shape", {});
  const Numbers strides = call.Wholes("strides", Numbers(kernel.size(), 1));
  Require(x.rank() == static_cast<int>(kernel.size()) + 2, "windows of ",
          kernel.size(), " axes on an input of ", x.rank(), " axes");
  Dims dims = x.dims;
  for (size_t k = 0; k < kernel.size(); ++k) {
    dims[k + 2] = (dims[k + 2] - 1) * strides[k] + kernel[k];
  }
  const Dims flat = {NumElements(x.dims)};
  Value y = Reshape(ScatterAdd({Reshape(x, flat), {"from"}},
                               {Reshape(call[1], flat), {"from"}}, {"to"}, "to",
                               NumElements(dims)),
                    dims);
  if (!call.Has(2)) return y;
  OCANNL_ASSIGN_OR_RETURN(const Numbers wanted, call.WholeElements(2));
  for (int k = 0; k < y.rank(); ++k) y = Pad(y, k, 0, wanted[k] - dims[k]);
  return y;
}

// Sums over how many cells of the image, or of the padding too, there are.
absl::StatusOr<Outputs> AveragePoolRule(const OpCall& call) {
  const Value& x = call[0];
  const std::vector<Window> windows =
      WindowsOf(call, x, call.Wholes("kernel_shape", {}));
  Dims counted = x.dims;
  counted[0] = counted[1] = 1;
  std::vector<Window> inside = windows;
  for (size_t k = 0; k < windows.size(); ++k) {
    if (call.Whole("count_include_pad", 0) == 0) continue;
    counted[k + 2] += windows[k].before + windows[k].behind;
    inside[k].fit = Fit::kExact;
  }
  Value ones = Filled(call.graph(), counted, 1, x.dtype());
  for (size_t k = 0; k < windows.size(); ++k) {
    if (inside[k].fit != Fit::kExact) continue;
    const int axis = static_cast<int>(k) + 2;
    ones = Pad(ones, axis, 0, windows[k].reach() - counted[axis]);
  }
  return Pool(x, windows, Op::kAdd) / Pool(ones, inside, Op::kAdd);
}

// The p-norm of each window.
absl::StatusOr<Outputs> LpPoolRule(const OpCall& call) {
  const Value& x = call[0];
  const auto p = static_cast<double>(call.Whole("p", 2));
  const std::vector<Window> windows =
      WindowsOf(call, x, call.Wholes("kernel_shape", {}));
  return Pow(Pool(Pow(Abs(x), p), windows, Op::kAdd), 1 / p);
}

absl::StatusOr<Outputs> GlobalLpPoolRule(const OpCall& call) {
  const Value& x = call[0];
  const auto p = static_cast<double>(call.Whole("p", 2));
  return Pow(ReduceAxes(Op::kAdd, Pow(Abs(x), p), AxesFrom(2, x.rank())),
             1 / p);
}

absl::StatusOr<Outputs> GlobalMaxPoolRule(const OpCall& call) {
  return ReduceAxes(Op::kMax, call[0], AxesFrom(2, call[0].rank()));
}

absl::StatusOr<Outputs> GlobalAveragePoolRule(const OpCall& call) {
  return MeanAxes(call[0], AxesFrom(2, call[0].rank()));
}

absl::StatusOr<Outputs> ConvRule(const OpCall& call) {
  const Value y = Convolution(call, call[0], call[1]);
  return call.Has(2) ? y + Along(call[2], 1, y.rank()) : y;
}

}  // namespace

Value Convolution(const OpCall& call, const Value& x, const Value& w) {
  const std::vector<Window> windows =
      WindowsOf(call, x, w.between(2, w.rank()));
  WindowAxes axes = AxesOf(windows);
  // Channels of the image and of the result are those of a group, group by
  // group.
  const int64_t groups = call.Whole("group", 1);
  Require(groups > 0 && w.dim(0) % groups == 0 && x.dim(1) == groups * w.dim(1),
          groups, " groups do not divide the channels");
  axes.sizes["g"] = groups;
  axes.sizes["i"] = w.dim(1);
  axes.sizes["j"] = w.dim(0) / groups;
  const std::string channels = absl::StrCat(w.dim(1), "*g<+i");
  const std::string results = absl::StrCat(w.dim(0) / groups, "*g<+j");
  return Product({{x, Join({"n", channels}, axes.image)},
                  {w, Join({results, "i"}, axes.kernel)}},
                 Join({"n", results}, axes.cells), axes.sizes);
}

std::vector<OpRule> WindowRules() {
  return {{"Conv", ConvRule},
          {"ConvTranspose", ConvTransposeRule},
          {"MaxPool", MaxPoolRule},
          {"MaxUnpool", MaxUnpoolRule},
          {"AveragePool", AveragePoolRule},
          {"LpPool", LpPoolRule},
          {"GlobalLpPool", GlobalLpPoolRule},
          {"GlobalMaxPool", GlobalMaxPoolRule},
          {"GlobalAveragePool", GlobalAveragePoolRule}};
}

}  // namespace ocannl::onnx
