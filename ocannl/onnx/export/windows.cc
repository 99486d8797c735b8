// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/export/windows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/onnx/write.h"

namespace ocannl::onnx {
namespace {

// What runtimes implement.
constexpr size_t kMostWindowAxes = 3;

// The windows on the axes of an operand, and the attributes that say so.
struct Windows {
  std::vector<Window> axes;
  Dims counts;  // of the windows on each axis
  FileGraph::Attributes attributes;

  Loops out() const {
    Loops loops;
    for (const Window& window : axes) loops.push_back(window.out);
    return loops;
  }
  bool Has(IteratorId loop) const {
    return absl::c_any_of(axes, [&](const Window& window) {
      return window.out == loop || window.in == loop;
    });
  }
};

// None: there are no windows, or ONNX has none like them.
std::optional<Windows> WindowsOf(const NestOperand& image,
                                 const LoopExtents& extents,
                                 const Loops& result) {
  Windows windows;
  std::vector<int64_t> kernel, strides, dilations, before, after;
  for (size_t axis = 0; axis < image.dims.size(); ++axis) {
    const Affine& index = image.indices[axis];
    const auto window = WindowOf(index, extents, result);
    if (!window) continue;
    const int64_t count = extents[window->out];
    const int64_t span = window->dilation * (extents[window->in] - 1) + 1;
    const int64_t size = image.dims[axis];
    const int64_t pad = -window->offset;
    const int64_t rest = (count - 1) * window->stride + span - pad - size;
    const int64_t behind = std::max<int64_t>(0, rest);
    const bool fits =
        pad >= 0 && (size + pad + behind - span) / window->stride + 1 == count;
    if (!fits || windows.Has(window->out) || windows.Has(window->in)) {
      return std::nullopt;
    }
    windows.axes.push_back(*window);
    windows.counts.push_back(count);
    kernel.push_back(extents[window->in]);
    strides.push_back(window->stride);
    dilations.push_back(window->dilation);
    before.push_back(pad);
    after.push_back(behind);
  }
  if (windows.axes.empty() || windows.axes.size() > kMostWindowAxes) {
    return std::nullopt;
  }
  before.insert(before.end(), after.begin(), after.end());
  windows.attributes = {{"kernel_shape", WholesAttribute(kernel)},
                        {"strides", WholesAttribute(strides)},
                        {"dilations", WholesAttribute(dilations)},
                        {"pads", WholesAttribute(before)}};
  return windows;
}

// Whether no axis of the operand has two loops or more.
bool IsPlain(const NestOperand& operand, const LoopExtents& extents) {
  return absl::c_all_of(operand.indices, [&](const Affine& index) {
    return LoopsOf({index}, extents).size() < 2;
  });
}

std::optional<Cells> Convolution(const Nest& nest, const NestOperand& image,
                                 const NestOperand& kernel, const Loops& result,
                                 FileGraph& to) {
  const auto windows = WindowsOf(image, nest.extents, result);
  if (!windows || !IsPlain(kernel, nest.extents)) return std::nullopt;
  const Cells x = ReadCells(image.value, image.dims, image.indices,
                            nest.extents, {.windows_of = &result}, to);
  const Cells w = ReadCells(kernel.value, kernel.dims, kernel.indices,
                            nest.extents, {}, to);
  Loops inner;
  for (const Window& window : windows->axes) {
    const bool is_there = x.Has(window.out) && w.Has(window.in);
    if (!is_there || w.Has(window.out)) return std::nullopt;
    inner.push_back(window.in);
  }
  Loops batch, groups, sums, channels;
  for (IteratorId loop : result) {
    if (windows->Has(loop)) continue;
    if (x.Has(loop)) (w.Has(loop) ? groups : batch).push_back(loop);
    if (!x.Has(loop) && w.Has(loop)) channels.push_back(loop);
  }
  for (const auto& [a, b] : {std::pair(&x, &w), std::pair(&w, &x)}) {
    for (IteratorId loop : a->loops) {
      if (absl::c_linear_search(result, loop) || windows->Has(loop)) continue;
      if (!b->Has(loop)) return std::nullopt;
      if (a == &x) sums.push_back(loop);
    }
  }
  for (IteratorId loop : nest.extents.ids()) {
    const bool is_there = windows->Has(loop) ||
                          absl::c_linear_search(result, loop) ||
                          absl::c_linear_search(sums, loop);
    if (!is_there && nest.extents[loop] > 1) return std::nullopt;
  }
  FileGraph::Attributes attributes = windows->attributes;
  int64_t group = 1;
  for (IteratorId loop : groups) group *= w.SizeOf(loop);
  attributes["group"] = WholeAttribute(group);
  const FileValue images =
      Grouped(x, {}, {batch, Concat({groups, sums})}, windows->out(), to);
  const FileValue kernels =
      Grouped(w, {}, {Concat({groups, channels}), sums}, inner, to);
  if (images.dims[1] == kOpenSize || kernels.dims[0] == kOpenSize ||
      kernels.dims[1] == kOpenSize) {
    RefuseBatch("the batch is convolved");
  }
  const Dims& counts = windows->counts;
  Dims dims = {images.dims[0], kernels.dims[0]};
  dims.insert(dims.end(), counts.begin(), counts.end());
  const FileValue sum =
      to.Op("Conv", {images, kernels}, images.dtype, dims, attributes);
  dims.clear();
  for (IteratorId loop : batch) dims.push_back(x.SizeOf(loop));
  for (IteratorId loop : Concat({groups, channels})) {
    dims.push_back(w.SizeOf(loop));
  }
  dims.insert(dims.end(), counts.begin(), counts.end());
  return Cells{to.Reshape(sum, dims),
               Concat({batch, groups, channels, windows->out()})};
}

std::optional<Cells> GreatestCells(const Nest& nest, const Loops& result,
                                   FileGraph& to) {
  const NestOperand& image = nest.operands[0];
  const auto windows = WindowsOf(image, nest.extents, result);
  if (!windows) return std::nullopt;
  const Cells x = ReadCells(image.value, image.dims, image.indices,
                            nest.extents, {.windows_of = &result}, to);
  Loops others;
  if (!absl::c_all_of(windows->out(),
                      [&](IteratorId loop) { return x.Has(loop); })) {
    return std::nullopt;
  }
  for (IteratorId loop : x.loops) {
    if (windows->Has(loop)) continue;
    if (!absl::c_linear_search(result, loop)) return std::nullopt;
    others.push_back(loop);
  }
  absl::c_sort(others);
  const Loops batch(others.begin(), others.begin() + !others.empty());
  const Loops channels(others.begin() + !others.empty(), others.end());
  const FileValue images =
      Grouped(x, {}, {batch, channels}, windows->out(), to);
  const Dims& counts = windows->counts;
  Dims dims = {images.dims[0], images.dims[1]};
  dims.insert(dims.end(), counts.begin(), counts.end());
  const FileValue greatest =
      to.Op("MaxPool", {images}, images.dtype, dims, windows->attributes);
  dims.clear();
  for (IteratorId loop : others) dims.push_back(x.SizeOf(loop));
  dims.insert(dims.end(), counts.begin(), counts.end());
  return Cells{to.Reshape(greatest, dims), Concat({others, windows->out()})};
}

}  // namespace

std::optional<Cells> WriteWindows(const Nest& nest, const Loops& result,
                                  FileGraph& to) {
  if (!absl::c_all_of(nest.operands, [](const NestOperand& operand) {
        return IsFloat(operand.value.dtype);
      })) {
    return std::nullopt;
  }
  const size_t count = nest.operands.size();
  if (nest.is_product && nest.accum == Op::kAdd && count == 2) {
    for (const int image : {0, 1}) {
      auto sum = Convolution(nest, nest.operands[image],
                             nest.operands[1 - image], result, to);
      if (sum) return sum;
    }
  }
  const bool is_greatest = nest.accum == Op::kMax && count == 1 && nest.is_copy;
  return is_greatest ? GreatestCells(nest, result, to) : std::nullopt;
}

}  // namespace ocannl::onnx
