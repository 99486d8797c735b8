// SPDX-License-Identifier: Apache-2.0
//
// TorchLayout: how PyTorch stores the parameters of a network. It follows from
// how the graph uses a parameter, so it holds for blocks and for einsums of
// one's own:
//
//  use                     ours                     PyTorch
//  Linear                  out..., in...            [out, in]
//  Linear of an image      out..., h, w, c          [out, c*h*w]
//  convolution             out, h, w, in            [out, in, h, w]
//  the same with groups    groups, out, h, w, in    [groups*out, in, h, w]
//  depthwise               channels, h, w           [channels, 1, h, w]
//  Gather from a table     size, count              [count, size]
//  bias, scale, state      the same
//
// The axes of the result are first, the axes that are summed follow, and the
// axes of a window are last. A looked-up axis is before all others. Three axes
// that a Linear sums are an image: PyTorch flattens it with its channels first.
// Two axes are heads, in our order. A flattened sequence with channels looks
// the same, so permute its weights before.
#ifndef OCANNL_TRAIN_CHECKPOINT_TORCH_LAYOUT_H_
#define OCANNL_TRAIN_CHECKPOINT_TORCH_LAYOUT_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

struct TorchLayout {
  // The axes of a parameter, by number, in PyTorch's order. Those of one group
  // are one axis there, or several.
  std::vector<std::vector<int>> groups;
  // Uses of the parameter have different layouts, or one that is not above, or
  // give it another shape.
  bool is_unknown = false;

  friend bool operator==(const TorchLayout&, const TorchLayout&) = default;
};

// The layout of each of the parameters. Their shapes must be inferred.
absl::flat_hash_map<TensorId, TorchLayout> TorchLayouts(
    const Model& model, absl::Span<const Tensor> params);

// Whether the cells of a parameter of size `dims` have another order in
// PyTorch.
bool Reorders(const TorchLayout& layout, const Dims& dims);

// Whether PyTorch may store such a parameter with the size `in_file`. Each
// group of axes ends where an axis of the file ends. In a group, the file may
// have fewer axes or more: 384,384 fits 12,32,384 of the groups 0,1 and 2.
bool FitsTorch(const TorchLayout& layout, const Dims& dims,
               const Dims& in_file);

// The parameter of size `dims` whose cells PyTorch stores as `array`.
// CHECK-fails unless they fit.
NdArray FromTorch(const TorchLayout& layout, const Dims& dims,
                  const NdArray& array);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_CHECKPOINT_TORCH_LAYOUT_H_
