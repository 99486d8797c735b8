// SPDX-License-Identifier: Apache-2.0
//
// Cells: a value of an ONNX file, with the loop that runs along each axis.
#ifndef OCANNL_ONNX_EXPORT_CELLS_H_
#define OCANNL_ONNX_EXPORT_CELLS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "ocannl/core/index/projections.h"
#include "ocannl/onnx/export/file_graph.h"

namespace ocannl::onnx {

using Loops = std::vector<IteratorId>;

// Loops are distinct. A loop that is missing repeats the cells.
struct Cells {
  FileValue value;
  Loops loops;

  bool Has(IteratorId loop) const;
  int64_t SizeOf(IteratorId loop) const;  // which it has
};

// The index without loops of one iteration. Refusal: a static index.
Affine Moving(const Affine& index, const LoopExtents& extents);

// stride * out + dilation * in + offset.
struct Window {
  IteratorId out, in;
  int64_t stride, dilation, offset;
};

// Whether the index is a window: a loop that is in `result` and one that is
// not, with factors above 0.
std::optional<Window> WindowOf(const Affine& index, const LoopExtents& extents,
                               const Loops& result);

// The loops of more than one cell in the indices, each once.
Loops LoopsOf(const Indices& indices, const LoopExtents& extents);

// The cells of a value of a tensor of `dims` at `indices`, with `outside` in
// the place of those outside of the tensor. The axis of a window, if they are
// asked to stay, is as it is, under its outer loop. Refusal: an index of a
// static index, or two axes of one loop.
struct ReadOptions {
  double outside = 0;
  const Loops* windows_of = nullptr;  // the result's: windows stay
};
Cells ReadCells(FileValue value, const Dims& dims, const Indices& indices,
                const LoopExtents& extents, const ReadOptions& options,
                FileGraph& to);

// The axes in the order of `loops`, which has all of them.
Cells InOrder(const Cells& cells, const Loops& loops, FileGraph& to);

// The same with an axis of one cell for each loop that is missing. Without
// those in front, if not `in_front`.
FileValue Aligned(const Cells& cells, const Loops& loops, bool in_front,
                  FileGraph& to);

// The size of the axes of the loops as one. It is open if one of them is.
int64_t ProductOfSizes(const Cells& cells, const Loops& loops);

// The loops of all parts, in order.
Loops Concat(std::initializer_list<Loops> parts);

// The axes in the order of the loops, which are all that the cells have. Each
// of `folded` is one axis of the result, of one cell if it is empty.
FileValue Grouped(const Cells& cells, const Loops& before,
                  std::initializer_list<Loops> folded, const Loops& behind,
                  FileGraph& to);

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_EXPORT_CELLS_H_
