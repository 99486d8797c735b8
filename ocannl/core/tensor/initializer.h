// SPDX-License-Identifier: Apache-2.0
//
// Random tensors and the first values of parameters.
//
//   Tensor w = Param(graph, "w", {}, DType::kF32, [](Tensor w) {
//     return Kaiming(Uniform1(*w.graph), w, 6);
//   });
//   Tensor noisy = x + Normal1(graph);     // other noise in each step
//
// A random tensor takes its shape from its use. A cell is a function of the
// graph's seed, of the ordinal of the draw among those of the graph, of the
// counter, and of the cell's offset in memory order: Threefry with 20 rounds
// (random.h), so that cells, draws, counters and seeds are independent.
//
// Error, when shapes are inferred: a random tensor of more than 2^32 cells.
//
// A uniform draw is in [0, 1), a multiple of 2^-p that its dtype holds exactly,
// where p is the dtype's precision (53 for f64, 24 for f32, 11 for f16): the
// leading p bits of the words, so that a narrower draw is the wider one cut
// off, and never rounded to 1. (OCANNL's f16 is the low 16 bits over 65536,
// which f16 cannot hold.)
#ifndef OCANNL_CORE_TENSOR_INITIALIZER_H_
#define OCANNL_CORE_TENSOR_INITIALIZER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

struct Draw {
  // A float. Numbers of f64 take two words of 32 bits, others one.
  DType dtype = DType::kF32;
  // Other numbers for each of its values: a static index, with up to 64 bits,
  // an integer, or a tensor of one cell, u32, i64 or u64; else it is an error.
  // None: the step (Graph::Step).
  // Where the graph has no step, and in the first value of a parameter, it is
  // 0: each run draws the same. Number(graph, 0): noise that never changes.
  std::optional<Tensor> counter = std::nullopt;
};

// Uniform in [0, 1), the same in each run without a counter or a step (Draw).
// Uniform1 has a random block of four words for each cell, and takes the first
// ones; in Uniform a block serves as many cells as it has words for.
Tensor Uniform1(Graph& graph, const Draw& draw = {},
                SourceLocation where = SourceLocation::Current());
Tensor Uniform(Graph& graph, const Draw& draw = {},
               SourceLocation where = SourceLocation::Current());

// Standard normal, the same in each run without a counter or a step (Draw), by
// Box and Muller ("A note on the generation of random normal deviates", 1958),
// of two tensors like Uniform1, or Uniform. Narrow floats are rounded f32.
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

// Plain first values are computed cell by cell from random numbers, constants
// and the sizes of the parameter. They tell nothing of its shape, and those of
// one initialiser differ in key words only, which are numbers of u32:
//
//   a: 2 *. uniform(1890719623, ...) - 1
//   b: 2 *. uniform(2769243033, ...) - 1
//
// The nodes that compute the first value of `parameter`, operands first, if
// they are made and that is plain.
std::optional<std::vector<TensorId>> PlainFirstValue(const Graph& graph,
                                                     TensorId parameter);

// The words of the ordinal of a draw and of the graph's seed, of which the
// first two are in its key; and that of a node that is one.
std::array<uint32_t, 4> KeyWords(uint32_t ordinal, uint32_t seed);
uint32_t WordOf(const TensorNode& node);

// What plain nodes compute, but for the values of words: equal forms of
// parameters of one shape, dtype and memory are one computation.
struct FirstValueForm {
  std::vector<int64_t> form;
  std::vector<uint32_t> words;  // in the order of WordsOf
};
std::optional<FirstValueForm> FormOf(const Graph& graph, TensorId parameter);
std::vector<TensorId> WordsOf(const Graph& graph,
                              const std::vector<TensorId>& nodes);

// An initialiser that makes the same nodes for all parameters of one dtype but
// for random numbers, and so has those of the first one only: the first values
// of other parameters are made when they are asked for (InferShapes). Equal
// names are equal initialisers. It keeps no tensor that it makes.
//
//   const NamedInit twice = {
//       "twice", [](Tensor p) { return Mul(Uniform(*p.graph), 2); }};
struct NamedInit {
  std::string name;
  Initializer make;

  Tensor operator()(Tensor parameter) const { return make(parameter); }
};

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_INITIALIZER_H_
