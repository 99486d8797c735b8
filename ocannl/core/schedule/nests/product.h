// SPDX-License-Identifier: Apache-2.0
//
// Product: a contraction of two operands, with what is done in the same loops
// before and behind its sums.
//
//   for i1 { for i2 {
//     t[i1, i2] := 0;
//     for i3 { t[i1, i2] := fma(a[i1, i3], b[i3, i2], t[i1, i2]); }
//     y[i1, i2] := relu(t[i1, i2]);
//   } }
#ifndef OCANNL_CORE_SCHEDULE_NESTS_PRODUCT_H_
#define OCANNL_CORE_SCHEDULE_NESTS_PRODUCT_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// The perfectly nested parallel loops of the statement of the body, from the
// outermost one on.
std::vector<NestLoop> ParallelLoops(const LoopProgram& program, size_t at);

// What is in the innermost of the outermost `loops` loops of the statement
// `at`.
const Block& BodyOf(const LoopProgram& program, size_t at, size_t loops);

// Loops over results around a body of which one statement reduces.
struct Product {
  std::vector<NestLoop> outputs;
  size_t statements;  // of the body
  size_t sum;         // which of them is the reduction
  std::vector<NestLoop> reduced;
  Access result;
  // That which moves along the last output loop is the second one.
  std::vector<Access> operands;
};

// The statement `at` of the body, if it is one.
std::optional<Product> AsProduct(const LoopProgram& program, size_t at);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_NESTS_PRODUCT_H_
