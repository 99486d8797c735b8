// SPDX-License-Identifier: Apache-2.0
//
// Loop nests as nodes of an ONNX file. A nest is of affine indices
// (core/index/projections.h), so that one translation does for pointwise
// operations, einsums, windows, concatenations and what else specs say:
//
//   product of two, summed       MatMul, or Conv if the indices are windows
//   greatest cell of windows     MaxPool
//   another term                 its operators, on axes in one order, reduced
//   other indices                Gather, Pad
//
// A convolution over cells in any order of axes is Conv between transpositions,
// which runtimes fold into weights or their layouts.
#ifndef OCANNL_ONNX_EXPORT_NEST_H_
#define OCANNL_ONNX_EXPORT_NEST_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/index/projections.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/onnx/export/file_graph.h"

namespace ocannl::onnx {

// What a nest reads: cells of a tensor.
struct NestOperand {
  FileValue value;
  Dims dims;  // of the tensor
  Indices indices;
};

struct Nest {
  LoopExtents extents;
  Indices result;
  std::vector<NestOperand> operands;
  std::optional<Op> accum;  // as of ComputeSource; over the other loops
  double outside = 0;       // what is read outside of the operands
  bool is_product = false;  // the term is the product of the operands
  bool is_copy = false;     // the term is the only operand
  // The term of values that broadcast.
  std::function<FileValue(absl::Span<const FileValue>)> term;
};

// What the loops of the nest compute, as an array of `dims`, or one that
// broadcasts to it; cells that no loop reaches hold `outside`. Refusal: indices
// that have no form in ONNX.
FileValue WriteNest(const Nest& nest, const Dims& dims, FileGraph& to);

// The rows of `table` that `ids` name, along the axis whose loop is the last.
// No loop is in both. Refusals: likewise.
struct Lookup {
  NestOperand table, ids;
  LoopExtents extents;
  Indices result;
  std::optional<Op> accum;
};
FileValue WriteLookup(const Lookup& lookup, const Dims& dims, FileGraph& to);

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_EXPORT_NEST_H_
