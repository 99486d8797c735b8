// SPDX-License-Identifier: Apache-2.0
//
// RandomValues: random expressions of any dtype over the leaves that the caller
// offers, with any operation of ops.def.
#ifndef OCANNL_FUZZ_PROGRAMS_RANDOM_VALUE_H_
#define OCANNL_FUZZ_PROGRAMS_RANDOM_VALUE_H_

#include <functional>
#include <optional>
#include <vector>

#include "ocannl/core/loop/loop.h"
#include "ocannl/fuzz/programs/policy.h"
#include "ocannl/fuzz/programs/random.h"

namespace ocannl::fuzz {

class RandomValues {
 public:
  // `leaf` gives something to read of the dtype, if there is anything.
  using Leaf = std::function<std::optional<LeafValue>(DType)>;

  // Draws the operations and dtypes that this program uses.
  RandomValues(LoopProgram* program, Random* random, const Policies& policies,
               Leaf leaf);

  // What most buffers hold.
  DType PickDType() { return random_->Pick(dtypes_); }

  // A value of at most `depth` operations above a leaf.
  Expr Value(DType dtype, int depth);

 private:
  Expr LeafOf(DType dtype);
  Expr Tame(Op op, size_t operand, Expr value);

  LoopProgram* program_;
  Random* random_;
  bool wild_;
  Leaf leaf_;
  std::vector<Op> ops_;
  std::vector<DType> dtypes_;
};

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_PROGRAMS_RANDOM_VALUE_H_
