// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/trainer/images.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/wide.h"
#include "ocannl/train/trainer/axes.h"

namespace ocannl::train {
namespace {

// The windows along one axis.
struct Window {
  int64_t kernel, stride, before, after, dilation;
  int64_t cells = 0;  // how many there are

  int64_t span() const { return dilation * (kernel - 1) + 1; }
  // The cells that they reach.
  int64_t reach() const { return stride * (cells - 1) + span(); }
};

// What Ops writes after the first `begin` numbers.
struct WindowNumbers {
  bool ceil, count_padding;
  std::vector<Window> windows;
};

absl::StatusOr<WindowNumbers> ReadWindows(const OpCall& call, size_t begin,
                                          size_t rank, const Dims& kernel) {
  WindowNumbers read = {.ceil = call.numbers[begin] != 0,
                        .count_padding = call.numbers[begin + 1] != 0,
                        .windows = {}};
  std::vector<Dims> lists;
  for (size_t k = begin + 2; k < call.numbers.size();) {
    const auto size = static_cast<size_t>(call.numbers[k]);
    lists.emplace_back(call.numbers.begin() + k + 1,
                       call.numbers.begin() + k + 1 + size);
    k += 1 + size;
  }
  if (!kernel.empty()) lists[0] = kernel;
  const Dims ones(rank, 1), zeros(rank, 0);
  if (lists[1].empty()) lists[1] = ones;
  if (lists[2].empty()) lists[2] = zeros;
  if (lists[3].empty()) lists[3] = lists[2];
  if (lists[4].empty()) lists[4] = ones;
  for (size_t k = 0; k < rank; ++k) {
    bool fits = true;
    for (const Dims& list : lists) fits = fits && list.size() == rank;
    for (size_t list : {0, 1, 4}) fits = fits && lists[list][k] > 0;
    fits = fits && lists[2][k] >= 0 && lists[3][k] >= 0;
    if (!fits) {
      return Unfit("kernel ", DimsText(lists[0]), ", stride ",
                   DimsText(lists[1]), ", dilation ", DimsText(lists[4]),
                   " and paddings ", DimsText(lists[2]), " and ",
                   DimsText(lists[3]), " must have ", rank,
                   " numbers each, the first three above 0, and no padding "
                   "below it");
    }
    read.windows.push_back({.kernel = lists[0][k],
                            .stride = lists[1][k],
                            .before = lists[2][k],
                            .after = lists[3][k],
                            .dilation = lists[4][k]});
  }
  return read;
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
      return Unfit("a window of ", window.span(), " does not fit into ", size,
                   " cells with a padding of ", window.before, " before and ",
                   window.after, " after them");
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
Tensor Counted(Graph& graph, const WindowNumbers& read, const Dims& dims,
               const Axes& cells) {
  std::optional<Tensor> product;
  for (size_t k = 0; k < read.windows.size(); ++k) {
    const Window& window = read.windows[k];
    const bool all = read.count_padding;
    const int64_t from = all ? 0 : window.before;
    const int64_t to = window.before + dims[k + 1] + (all ? window.after : 0);
    AxisSizes repeated = {{cells[0], dims[0]}};
    for (size_t other = 0; other < read.windows.size(); ++other) {
      if (other == k) continue;
      repeated.emplace_back(cells[other + 1], read.windows[other].cells);
    }
    const Tensor wide = ReduceTo(
        Op::kAdd, {CellsOnAxis(graph, window, from, to), {cells[k + 1]}}, cells,
        repeated);
    product = product ? Mul(*product, wide) : wide;
  }
  return *product;
}

absl::StatusOr<Tensor> Pool(const OpCall& call, const Operand& x) {
  const bool is_max = call.op == Primitive::kMaxPool;
  const bool is_smooth = call.op == Primitive::kSmoothMaxPool;
  if (x.dims.size() < 2) {
    return Unfit("shape ", DimsText(x.dims), " has no channels and axes");
  }
  OCANNL_ASSIGN_OR_RETURN(
      WindowNumbers read,
      ReadWindows(call, is_smooth ? 1 : 0, x.dims.size() - 1, {}));
  double cells = 1;
  for (const Window& window : read.windows) {
    const int64_t padding = std::max(window.before, window.after);
    if (padding >= window.span()) {
      return Unfit("a padding of ", padding,
                   " is not smaller than the window, ", window.span());
    }
    cells *= static_cast<double>(window.kernel);
  }
  const Op accum = is_max ? Op::kMax : Op::kAdd;
  OCANNL_ASSIGN_OR_RETURN(Operand padded,
                          Padded(x, read.ceil, read.windows, accum));
  // Sums of narrow floats are rounded once, when they have been divided.
  const DType dtype = DecidedDType(x.tensor);
  if (!is_max) padded.tensor = Widened(padded.tensor);
  const double beta = call.numbers[0];
  if (is_smooth) {
    if (beta == 0) return Unfit("beta is 0");
    padded.tensor = Exp(Mul(padded.tensor, beta));
  }
  padded = WithCellsBeyond(padded, read.windows, accum);
  const WindowAxes axes = AxesOf(read.windows, "c", "c");
  const Tensor y =
      ReduceTo(accum, {padded.tensor, axes.image}, axes.cells, axes.sizes);
  if (is_max) return y;
  if (is_smooth) return InDType(Log(y) / beta, dtype);
  const bool alike = read.count_padding && !read.ceil;
  if (alike) return InDType(y / cells, dtype);
  const Tensor counts = Counted(*y.graph, read, x.dims, axes.cells);
  return InDType(y / InDType(counts, y.node().dtype), dtype);
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
      return Unfit("paddings of ", before, " and ", after, " leave nothing of ",
                   all.dims[k + 1], " cells");
    }
    all = PadAxis(all, k + 1, -before, -after);
  }
  return all;
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
      WindowNumbers read,
      ReadWindows(call, 0, rank, {w.dims.begin() + 2, w.dims.end()}));
  OCANNL_ASSIGN_OR_RETURN(
      const Operand y, is_transposed ? CorrelateTransposed(w, x, read.windows)
                                     : Correlate(w, x, read.windows));
  return y.tensor + Bias(b, y.dims);
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
