// SPDX-License-Identifier: Apache-2.0
//
// Leaves: the tensors that are not computed from others.
//
//   Tensor w = Param(graph, "w", {}, DType::kF32, DefaultInit);
//   ShapeSpec pairs;
//   pairs[RowKind::kOutput] = Dims{2};
//   Tensor x = Data(graph, "x", std::move(array), pairs);
//   Tensor images = Input(graph, "images", "50|28,28,1");
#ifndef OCANNL_CORE_TENSOR_LEAF_H_
#define OCANNL_CORE_TENSOR_LEAF_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// An array from the host in the rows of `spec`. At most one row is left open:
// it takes the elements that the others leave; the sizes must divide. Beside an
// open batch row, an input row that is left out has no axes. An open batch row
// becomes two axes when a static index of range n slices the tensor: n, and
// the rest. A rest of 1 is an axis if the array has one for it: of {4, 2} and
// {1, 2} with 2 outputs both are batches, 4|2 and 1|2.
Tensor Data(Graph& graph, std::string name, NdArray array, ShapeSpec spec,
            SourceLocation where = SourceLocation::Current());

// An array of numbers written down in the program, of open dtype
// (open_dtype.h). As f32 they are `values`, else `digits` rounded; if there are
// none, `values` as well.
Tensor Literal(Graph& graph, const Shape& shape,
               const std::vector<float>& values,
               std::vector<double> digits = {},
               SourceLocation where = SourceLocation::Current());

// The first value of a parameter, which it is given to ask for its sizes.
using Initializer = std::function<Tensor(Tensor parameter)>;

// What training changes. Rows that `spec` leaves open are inferred, and so is
// the dtype where it is left out; there are no batch axes. An empty `init`
// leaves the value to the host; a first value that is another float is rounded.
Tensor Param(Graph& graph, std::string name, ShapeSpec spec,
             std::optional<DType> dtype, const Initializer& init,
             SourceLocation where = SourceLocation::Current());

// An array that the host writes before each use (Context::Write): `rows` are
// its sizes as batch|input->output, as ParseRows (shape.h) reads them. It has
// no gradient and no first value: a routine that reads it before it is written
// is an error. Error node: other text.
Tensor Input(Graph& graph, std::string name, absl::string_view rows,
             DType dtype = DType::kF32,
             SourceLocation where = SourceLocation::Current());

// An f32 array that the host writes before it is read (Context::Write). It has
// the output axes that its use wants, and no gradient.
Tensor Placeholder(Graph& graph, std::string name,
                   SourceLocation where = SourceLocation::Current());

// Cell i, in memory order, holds i; the shape comes from the use.
Tensor Offsets(Graph& graph, DType dtype,
               SourceLocation where = SourceLocation::Current());

// An output axis whose cell i holds i. It has `size` cells; of size 0, as many
// as its use demands.
Tensor Range(Graph& graph, int64_t size, DType dtype,
             SourceLocation where = SourceLocation::Current());

// The value of a static index, as f32 unless beside another dtype.
Tensor EmbedSymbol(Graph& graph, int32_t static_index,
                   SourceLocation where = SourceLocation::Current());

// The product of the sizes of `rows` of `tensor`, likewise.
Tensor EmbedDim(Tensor tensor, std::vector<RowKind> rows,
                SourceLocation where = SourceLocation::Current());

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_LEAF_H_
