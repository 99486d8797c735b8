// SPDX-License-Identifier: Apache-2.0
//
// Programs to run: of expressions in the notation, and training steps of MLPs.
//
//   ExpressionProgram({{"x", "64|512"}},
//                     {{"e", "exp (x - (x @^^ \"b|o => b|0\"))"},
//                      {"y", "e /. (e ++ \"b|o => b|0\")"}})
#ifndef EXPERIMENTS_BENCH_PROGRAMS_H_
#define EXPERIMENTS_BENCH_PROGRAMS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// A name and what it stands for.
using Definition = std::pair<std::string, std::string>;

// The optimised program that computes the last of `definitions`, each of which
// may use the names before it, into the buffer of its name. The inputs have
// shapes such as 2|3->4. Errors: of the notation, of shapes.
absl::StatusOr<LoopProgram> ExpressionProgram(
    const std::vector<Definition>& inputs,
    const std::vector<Definition>& definitions);

// A multilayer perceptron with ReLU and biases in all layers but the last; the
// loss is the sum of the squares of mlp(x) - y, divided by the batch.
struct Mlp {
  std::vector<int64_t> sizes;  // {256, 1024, 10}: two layers
  int64_t batch;
  double rate = 0.01;  // of the plain SGD
};

// The loss of a network whose parameters w1, b1, w2, ... it declares.
absl::StatusOr<Tensor> MlpLoss(Graph& graph, const Mlp& mlp, Tensor x,
                               Tensor y);

// One training step: reads x and y, updates w1, b1, w2, ..., writes loss.
absl::StatusOr<Assignments> MlpStep(const Mlp& mlp);

// Its optimised program.
absl::StatusOr<LoopProgram> MlpProgram(const Mlp& mlp);

// The flops of a step's matrix products.
double MlpFlops(const Mlp& mlp);

// The square of p0 x0 + p1 x1 + ..., whose sum is a balanced tree: `count`
// parameters of one cell, for which names, tables and indices are all the work.
Tensor ManyParameters(Graph& graph, int count);

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_PROGRAMS_H_
