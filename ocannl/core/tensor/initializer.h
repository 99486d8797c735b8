// SPDX-License-Identifier: Apache-2.0
//
// Random tensors and the first values of parameters.
//
//   Tensor w = Param(graph, "w", {}, DType::kF32, [](Tensor w) {
//     return Kaiming(Uniform1(*w.graph), w, 6);
//   });
//
// A random tensor takes its shape from its use. Every one of a graph has a key
// of its own, made of the graph's seed and of how many came before it; a cell
// depends on that key and on the cell's offset only.
#ifndef OCANNL_CORE_TENSOR_INITIALIZER_H_
#define OCANNL_CORE_TENSOR_INITIALIZER_H_

#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// Uniform f32 in [0, 1), multiples of 2^-24: a random block per cell, of which
// Uniform1 takes the first word; or a block for four cells.
Tensor Uniform1(Graph& graph, SourceLocation where = SourceLocation::Current());
Tensor Uniform(Graph& graph, SourceLocation where = SourceLocation::Current());

// Like Uniform1, and others for each value of `counter`: a static index or a
// u32 tensor of one cell.
Tensor Uniform1At(Tensor counter,
                  SourceLocation where = SourceLocation::Current());

// Standard normal f32, by Box and Muller, of two tensors like Uniform.
Tensor Normal(Graph& graph, SourceLocation where = SourceLocation::Current());

// Uniform in [-0.25, 0.25), of the dtype of `param`: an Initializer.
Tensor DefaultInit(Tensor param);

// random * sqrt(scale_sq / n), where n is the number of inputs of `param`, or
// of its inputs and outputs.
Tensor Kaiming(Tensor random, Tensor param, double scale_sq);
Tensor Xavier(Tensor random, Tensor param, double scale_sq);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_INITIALIZER_H_
