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
//
// A uniform draw is in [0, 1), a multiple of 2^-p that its dtype holds exactly,
// where p is the dtype's precision (53 for f64, 24 for f32, 11 for f16): the
// leading p bits of the words, so that a narrower draw is the wider one cut
// off, and never rounded to 1. (OCANNL's f16 is the low 16 bits over 65536,
// which f16 cannot hold.)
#ifndef OCANNL_CORE_TENSOR_INITIALIZER_H_
#define OCANNL_CORE_TENSOR_INITIALIZER_H_

#include <optional>

#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

struct Draw {
  // A float. Numbers of f64 take two words of 32 bits, others one.
  DType dtype = DType::kF32;
  // Other numbers for each of its values: a static index or a u32 tensor of one
  // cell.
  std::optional<Tensor> counter = std::nullopt;
};

// Uniform in [0, 1): a random block of four words per cell, of which Uniform1
// takes the first ones; or a block for as many cells as it has words for.
Tensor Uniform1(Graph& graph, const Draw& draw = {},
                SourceLocation where = SourceLocation::Current());
Tensor Uniform(Graph& graph, const Draw& draw = {},
               SourceLocation where = SourceLocation::Current());

// Standard normal, by Box and Muller ("A note on the generation of random
// normal deviates", 1958), of two tensors like Uniform1, or Uniform; narrow
// floats are those of f32 rounded.
Tensor Normal1(Graph& graph, const Draw& draw = {},
               SourceLocation where = SourceLocation::Current());
Tensor Normal(Graph& graph, const Draw& draw = {},
              SourceLocation where = SourceLocation::Current());

// Uniform in [-0.25, 0.25), of the dtype of `param`: an Initializer.
Tensor DefaultInit(Tensor param);

// random * sqrt(scale_sq / n), where n is the number of inputs of `param`, or
// of its inputs and outputs.
Tensor Kaiming(Tensor random, Tensor param, double scale_sq);
Tensor Xavier(Tensor random, Tensor param, double scale_sq);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_INITIALIZER_H_
