// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/trainer/images.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/train/trainer/axes.h"

namespace ocannl::train {
namespace {

// The windows along one axis.
struct Window {
  int64_t kernel, stride, padding;
  int64_t cells = 0;  // how many there are

  // The cells that they reach.
  int64_t reach() const { return stride * (cells - 1) + kernel; }
};

// The lists that Ops writes behind the first `begin` numbers.
absl::StatusOr<std::vector<Window>> ReadWindows(const OpCall& call,
                                                size_t begin, size_t rank,
                                                const Dims& kernel) {
  std::vector<Dims> lists;
  for (size_t k = begin; k < call.numbers.size();) {
    const auto size = static_cast<size_t>(call.numbers[k]);
    lists.emplace_back(call.numbers.begin() + k + 1,
                       call.numbers.begin() + k + 1 + size);
    k += 1 + size;
  }
  if (!kernel.empty()) lists[0] = kernel;
  const Dims ones(rank, 1), zeros(rank, 0);
  if (lists[1].empty()) lists[1] = ones;
  if (lists[2].empty()) lists[2] = zeros;
  std::vector<Window> windows;
  for (size_t k = 0; k < rank; ++k) {
    bool fits = true;
    for (const Dims& list : lists) fits = fits && list.size() == rank;
    fits = fits && lists[0][k] > 0 && lists[1][k] > 0 && lists[2][k] >= 0;
    if (!fits) {
      return Unfit("kernel ", DimsText(lists[0]), ", stride ",
                   DimsText(lists[1]), " and padding ", DimsText(lists[2]),
                   " must have ", rank, " numbers each, the first two above 0");
    }
    windows.push_back({lists[0][k], lists[1][k], lists[2][k]});
  }
  return windows;
}

// `x` with the cells that windows reach, whose number is set.
absl::StatusOr<Operand> Padded(Operand x, std::vector<Window>& windows,
                               Op accum) {
  for (size_t k = 0; k < windows.size(); ++k) {
    Window& window = windows[k];
    const int64_t size = x.dims[k + 1];
    if (window.padding >= window.kernel) {
      return Unfit("a padding of ", window.padding,
                   " is not smaller than the window, ", window.kernel);
    }
    const int64_t room = size + 2 * window.padding - window.kernel;
    if (room < 0) {
      return Unfit("a window of ", window.kernel, " does not fit into ", size,
                   " cells with ", window.padding, " at both ends");
    }
    window.cells = room / window.stride + 1;
    const int64_t behind = window.reach() - size - window.padding;
    x = PadAxis(x, k + 1, window.padding, behind, accum);
  }
  return x;
}

// The axes of the image, of its windows and of their cells.
struct WindowAxes {
  Axes image, cells, kernel;
  AxisSizes sizes;
};

WindowAxes AxesOf(const std::vector<Window>& windows, const std::string& first,
                  const std::string& first_cell) {
  WindowAxes axes = {
      .image = {first}, .cells = {first_cell}, .kernel = {}, .sizes = {}};
  for (size_t k = 0; k < windows.size(); ++k) {
    const std::string o = absl::StrCat("o", k), i = absl::StrCat("k", k);
    axes.image.push_back(absl::StrCat(windows[k].stride, "*", o, "<+", i));
    axes.cells.push_back(o);
    axes.kernel.push_back(i);
    axes.sizes.emplace_back(o, windows[k].cells);
    axes.sizes.emplace_back(i, windows[k].kernel);
  }
  return axes;
}

absl::StatusOr<Tensor> Pool(const OpCall& call, const Operand& x) {
  const bool is_max = call.op == Primitive::kMaxPool;
  const bool is_smooth = call.op == Primitive::kSmoothMaxPool;
  if (x.dims.size() < 2) {
    return Unfit("shape ", DimsText(x.dims), " has no channels and axes");
  }
  OCANNL_ASSIGN_OR_RETURN(
      std::vector<Window> windows,
      ReadWindows(call, is_smooth ? 1 : 0, x.dims.size() - 1, {}));
  const Op accum = is_max ? Op::kMax : Op::kAdd;
  OCANNL_ASSIGN_OR_RETURN(const Operand padded, Padded(x, windows, accum));
  const WindowAxes axes = AxesOf(windows, "c", "c");
  double cells = 1;
  for (const Window& window : windows) {
    cells *= static_cast<double>(window.kernel);
  }
  if (!is_smooth) {
    const Tensor y =
        ReduceTo(accum, {padded.tensor, axes.image}, axes.cells, axes.sizes);
    return is_max ? y : y / cells;
  }
  const double beta = call.numbers[0];
  if (beta == 0) return Unfit("beta is 0");
  const Tensor sums =
      ReduceTo(Op::kAdd, {Exp(Mul(padded.tensor, beta)), axes.image},
               axes.cells, axes.sizes);
  return Log(sums) / beta;
}

// b of each channel, for an image of those dims.
Tensor Bias(const Operand& b, const Dims& dims) {
  const Axes names = AxisNames(dims.size());
  AxisSizes sizes;
  for (size_t k = 1; k < dims.size(); ++k) {
    sizes.emplace_back(names[k], dims[k]);
  }
  return ReduceTo(Op::kAdd, {b.tensor, {names[0]}}, names, sizes);
}

Axes Join(Axes front, const Axes& rest) {
  front.insert(front.end(), rest.begin(), rest.end());
  return front;
}

absl::StatusOr<Tensor> Convolve(const OpCall& call, const Operand& w,
                                const Operand& b, const Operand& x) {
  const bool is_transposed = call.op == Primitive::kConvTranspose;
  const size_t rank = x.dims.size() - 1;
  const size_t in = is_transposed ? 0 : 1;  // axis of w
  if (x.dims.size() < 2 || w.dims.size() != rank + 2 ||
      w.dims[in] != x.dims[0] || b.dims != Dims{w.dims[1 - in]}) {
    return Unfit("w ", DimsText(w.dims), ", b ", DimsText(b.dims), " and x ",
                 DimsText(x.dims), " do not fit; they are ",
                 is_transposed ? "in,out,kernel" : "out,in,kernel",
                 " and out and in,sizes");
  }
  OCANNL_ASSIGN_OR_RETURN(
      std::vector<Window> windows,
      ReadWindows(call, 0, rank, {w.dims.begin() + 2, w.dims.end()}));
  Dims dims = {w.dims[1 - in]};
  Tensor y = x.tensor;
  if (is_transposed) {
    for (size_t k = 0; k < rank; ++k) windows[k].cells = x.dims[k + 1];
    const WindowAxes axes = AxesOf(windows, "j", "c");
    for (const Window& window : windows) dims.push_back(window.reach());
    Operand all = {SumOfProducts({{x.tensor, axes.cells},
                                  {w.tensor, Join({"c", "j"}, axes.kernel)}},
                                 axes.image, axes.sizes),
                   dims};
    for (size_t k = 0; k < rank; ++k) {
      const int64_t cut = windows[k].padding;
      if (2 * cut >= all.dims[k + 1]) {
        return Unfit("a padding of ", cut, " leaves nothing of ",
                     all.dims[k + 1], " cells");
      }
      all = PadAxis(all, k + 1, -cut, -cut);
    }
    y = all.tensor;
    dims = all.dims;
  } else {
    OCANNL_ASSIGN_OR_RETURN(const Operand padded, Padded(x, windows, Op::kAdd));
    const WindowAxes axes = AxesOf(windows, "c", "o");
    for (const Window& window : windows) dims.push_back(window.cells);
    y = SumOfProducts({{padded.tensor, axes.image},
                       {w.tensor, Join({"o", "c"}, axes.kernel)}},
                      axes.cells, axes.sizes);
  }
  return y + Bias(b, dims);
}

}  // namespace

absl::StatusOr<Tensor> AddImageOp(const OpCall& call,
                                  absl::Span<const Operand> operands) {
  switch (call.op) {
    case Primitive::kConv:
    case Primitive::kConvTranspose:
      return Convolve(call, operands[0], operands[1], operands[2]);
    default:
      return Pool(call, operands[0]);
  }
}

}  // namespace ocannl::train
