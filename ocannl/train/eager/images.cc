// SPDX-License-Identifier: Apache-2.0
//
// Pooling and convolutions, with channels first and any number of axes.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/wide.h"
#include "ocannl/train/eager/axes.h"
#include "ocannl/train/eager/functions.h"

namespace ocannl::train::fn {
namespace {

// The windows along one axis.
struct Window {
  int64_t kernel, stride, before, after, dilation;
  int64_t cells = 0;  // how many there are

  int64_t span() const { return dilation * (kernel - 1) + 1; }
  // The cells that they reach.
  int64_t reach() const { return stride * (cells - 1) + span(); }
};

// The windows along each of `rank` axes.
absl::StatusOr<std::vector<Window>> WindowsOf(const Windows& options,
                                              size_t rank, const Dims& kernel) {
  std::array<Dims, 5> lists = {kernel, options.stride, options.padding,
                               options.padding_after, options.dilation};
  const Dims ones(rank, 1), zeros(rank, 0);
  if (lists[1].empty()) lists[1] = ones;
  if (lists[2].empty()) lists[2] = zeros;
  if (lists[3].empty()) lists[3] = lists[2];
  if (lists[4].empty()) lists[4] = ones;
  std::vector<Window> windows;
  for (size_t k = 0; k < rank; ++k) {
    bool fits = true;
    for (const Dims& list : lists) fits = fits && list.size() == rank;
    for (size_t list : {0, 1, 4}) fits = fits && lists[list][k] > 0;
    fits = fits && lists[2][k] >= 0 && lists[3][k] >= 0;
    if (!fits) {
      return UserError("kernel ", DimsText(lists[0]), ", stride ",
                       DimsText(lists[1]), ", dilation ", DimsText(lists[4]),
                       " and paddings ", DimsText(lists[2]), " and ",
                       DimsText(lists[3]), " must have ", rank,
                       " numbers each, the first three above 0, and no padding "
                       "below it");
    }
    windows.push_back({.kernel = lists[0][k],
                       .stride = lists[1][k],
                       .before = lists[2][k],
                       .after = lists[3][k],
                       .dilation = lists[4][k]});
  }
  return windows;
}

// `x` with its padding, but without the cells that no window reaches. The
// number of windows is set.
absl::StatusOr<Operand> Padded(Operand x, bool ceil,
                               std::vector<Window>& windows, Op accum) {
  for (size_t k = 0; k < windows.size(); ++k) {
    Window& window = windows[k];
    const int64_t size = x.dims[k + 1];
    const int64_t room = size + window.before + window.after - window.span() +
                         (ceil ? window.stride - 1 : 0);
    if (room < 0) {
      return UserError("a window of ", window.span(), " does not fit into ",
                       size, " cells with a padding of ", window.before,
                       " before and ", window.after, " after them");
    }
    window.cells = room / window.stride + 1;
    // None starts in the padding after the image.
    if (ceil && (window.cells - 1) * window.stride >= size + window.before) {
      --window.cells;
    }
    const int64_t after = window.reach() - size - window.before;
    // One cell stays until the padding before is there.
    const int64_t padded = std::max(std::min(after, window.after), 1 - size);
    x = PadAxis(x, k + 1, window.before, padded, accum);
    if (after < padded) x = PadAxis(x, k + 1, 0, after - padded, accum);
  }
  return x;
}

// With the cells beyond the padding that windows reach.
Operand WithCellsBeyond(Operand x, const std::vector<Window>& windows,
                        Op accum) {
  for (size_t k = 0; k < windows.size(); ++k) {
    x = PadAxis(x, k + 1, 0, windows[k].reach() - x.dims[k + 1], accum);
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
    axes.image.push_back(absl::StrCat(windows[k].stride, "*", o, "<+",
                                      windows[k].dilation, "*", i));
    axes.cells.push_back(o);
    axes.kernel.push_back(i);
    axes.sizes.emplace_back(o, windows[k].cells);
    axes.sizes.emplace_back(i, windows[k].kernel);
  }
  return axes;
}

// How many cells each window has of those from `from` to before `to`, counted
// with the padding, as f32.
Tensor CellsOnAxis(Graph& graph, const Window& window, int64_t from,
                   int64_t to) {
  const Tensor at =
      OuterSum("o; k => o, k",
               Mul(window.stride, Range(graph, window.cells, DType::kF32)),
               Mul(window.dilation, Range(graph, window.kernel, DType::kF32)));
  const Tensor inside =
      Mul(Select(LessEqual(from, at), 1, 0), Select(Less(at, to), 1, 0));
  return Einsum1("o, k => o", inside);
}

// How many of the cells of each window count, for images of those dims.
Tensor Counted(Graph& graph, const std::vector<Window>& windows,
               bool count_padding, const Dims& dims, const Axes& cells) {
  std::optional<Tensor> product;
  for (size_t k = 0; k < windows.size(); ++k) {
    const Window& window = windows[k];
    const bool all = count_padding;
    const int64_t from = all ? 0 : window.before;
    const int64_t to = window.before + dims[k + 1] + (all ? window.after : 0);
    AxisSizes repeated = {{cells[0], dims[0]}};
    for (size_t other = 0; other < windows.size(); ++other) {
      if (other == k) continue;
      repeated.emplace_back(cells[other + 1], windows[other].cells);
    }
    const Tensor wide = ReduceTo(
        Op::kAdd, {CellsOnAxis(graph, window, from, to), {cells[k + 1]}}, cells,
        repeated);
    product = product ? Mul(*product, wide) : wide;
  }
  return *product;
}

// The windows of pooling, and how many cells each has.
struct PoolWindows {
  std::vector<Window> windows;
  int64_t cells = 1;
};

absl::StatusOr<PoolWindows> WindowsOfPool(const Operand& x,
                                          const Windows& options) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(x.tensor));
  if (x.dims.size() < 2) {
    return UserError("shape ", DimsText(x.dims), " has no channels and axes");
  }
  PoolWindows pool;
  OCANNL_ASSIGN_OR_RETURN(
      pool.windows, WindowsOf(options, x.dims.size() - 1, options.kernel));
  for (const Window& window : pool.windows) {
    const int64_t padding = std::max(window.before, window.after);
    if (padding >= window.span()) {
      return UserError("a padding of ", padding,
                       " is not smaller than the window, ", window.span());
    }
    pool.cells *= window.kernel;
  }
  return pool;
}

// accum of each window of `x`.
Tensor Pooled(Op accum, const Operand& x, const std::vector<Window>& windows) {
  const Operand padded = WithCellsBeyond(x, windows, accum);
  const WindowAxes axes = AxesOf(windows, "c", "c");
  return ReduceTo(accum, {padded.tensor, axes.image}, axes.cells, axes.sizes);
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

absl::StatusOr<Operand> Correlate(const Operand& w, const Operand& x,
                                  std::vector<Window>& windows) {
  OCANNL_ASSIGN_OR_RETURN(const Operand padded,
                          Padded(x, /*ceil=*/false, windows, Op::kAdd));
  const WindowAxes axes = AxesOf(windows, "c", "o");
  Dims dims = {w.dims[0]};
  for (const Window& window : windows) dims.push_back(window.cells);
  return Operand{SumOfProducts({{padded.tensor, axes.image},
                                {w.tensor, Join({"o", "c"}, axes.kernel)}},
                               axes.cells, axes.sizes),
                 dims};
}

absl::StatusOr<Operand> CorrelateTransposed(const Operand& w, const Operand& x,
                                            std::vector<Window>& windows) {
  Dims dims = {w.dims[1]};
  for (size_t k = 0; k < windows.size(); ++k) {
    windows[k].cells = x.dims[k + 1];
    dims.push_back(windows[k].reach());
  }
  const WindowAxes axes = AxesOf(windows, "j", "c");
  Operand all = {SumOfProducts({{x.tensor, axes.cells},
                                {w.tensor, Join({"c", "j"}, axes.kernel)}},
                               axes.image, axes.sizes),
                 dims};
  for (size_t k = 0; k < windows.size(); ++k) {
    const int64_t before = windows[k].before, after = windows[k].after;
    if (before + after >= all.dims[k + 1]) {
      return UserError("paddings of ", before, " and ", after,
                       " leave nothing of ", all.dims[k + 1], " cells");
    }
    all = PadAxis(all, k + 1, -before, -after);
  }
  return all;
}

absl::StatusOr<std::vector<Window>> WindowsOfConv(const Operand& w,
                                                  const Operand& b,
                                                  const Operand& x,
                                                  const Windows& options,
                                                  bool is_transposed) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(w.tensor));
  const size_t rank = x.dims.size() - 1;
  const size_t in = is_transposed ? 0 : 1;  // axis of w
  if (x.dims.size() < 2 || w.dims.size() != rank + 2 ||
      w.dims[in] != x.dims[0] || b.dims != Dims{w.dims[1 - in]}) {
    return UserError("w ", DimsText(w.dims), ", b ", DimsText(b.dims),
                     " and x ", DimsText(x.dims), " do not fit; they are ",
                     is_transposed ? "in,out,kernel" : "out,in,kernel",
                     " and out and in,sizes");
  }
  return WindowsOf(options, rank, {w.dims.begin() + 2, w.dims.end()});
}

}  // namespace

Made MaxPool(const Operand& x, const Windows& windows) {
  OCANNL_ASSIGN_OR_RETURN(PoolWindows pool, WindowsOfPool(x, windows));
  OCANNL_ASSIGN_OR_RETURN(const Operand padded,
                          Padded(x, windows.ceil, pool.windows, Op::kMax));
  return Pooled(Op::kMax, padded, pool.windows);
}

Made AvgPool(const Operand& x, const Windows& windows) {
  OCANNL_ASSIGN_OR_RETURN(PoolWindows pool, WindowsOfPool(x, windows));
  OCANNL_ASSIGN_OR_RETURN(Operand padded,
                          Padded(x, windows.ceil, pool.windows, Op::kAdd));
  // Sums of narrow floats are rounded once, when they have been divided.
  const DType dtype = DecidedDType(x.tensor);
  padded.tensor = Widened(padded.tensor);
  const Tensor y = Pooled(Op::kAdd, padded, pool.windows);
  const bool alike = windows.count_padding && !windows.ceil;
  if (alike) return InDType(y / static_cast<double>(pool.cells), dtype);
  const Tensor counts = Counted(*y.graph, pool.windows, windows.count_padding,
                                x.dims, AxesOf(pool.windows, "c", "c").cells);
  return InDType(y / InDType(counts, y.node().dtype), dtype);
}

Made SmoothMaxPool(const Operand& x, const Windows& windows, double beta) {
  OCANNL_ASSIGN_OR_RETURN(PoolWindows pool, WindowsOfPool(x, windows));
  OCANNL_ASSIGN_OR_RETURN(Operand padded,
                          Padded(x, windows.ceil, pool.windows, Op::kAdd));
  const DType dtype = DecidedDType(x.tensor);
  padded.tensor = Widened(padded.tensor);
  if (beta == 0) return UserError("beta is 0");
  padded.tensor = ocannl::Exp(Mul(padded.tensor, beta));
  return InDType(ocannl::Log(Pooled(Op::kAdd, padded, pool.windows)) / beta,
                 dtype);
}

Made Conv(const Operand& w, const Operand& b, const Operand& x,
          const Windows& options) {
  OCANNL_ASSIGN_OR_RETURN(std::vector<Window> windows,
                          WindowsOfConv(w, b, x, options, false));
  OCANNL_ASSIGN_OR_RETURN(const Operand y, Correlate(w, x, windows));
  return y.tensor + Bias(b, y.dims);
}

Made ConvTranspose(const Operand& w, const Operand& b, const Operand& x,
                   const Windows& options) {
  OCANNL_ASSIGN_OR_RETURN(std::vector<Window> windows,
                          WindowsOfConv(w, b, x, options, true));
  OCANNL_ASSIGN_OR_RETURN(const Operand y, CorrelateTransposed(w, x, windows));
  return y.tensor + Bias(b, y.dims);
}

}  // namespace ocannl::train::fn
