// SPDX-License-Identifier: Apache-2.0
//
// Random einsums, with what their specs mean said anew: which cell of each
// tensor a value of every name picks.
//
//   EinsumProgram program = RandomEinsum(random);
//   program.Spec()    // "|b->..v.., 2*a+1; ->a, a<+b => |->b"
#ifndef TESTS_RANDOM_EINSUM_H_
#define TESTS_RANDOM_EINSUM_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

// A value for each name; none for a part of a concatenation that is not the
// one at hand.
using Point = std::map<std::string, std::optional<int64_t>>;

struct RandomAxis {
  std::string text;
  int64_t size;
  // The index at a point, which may be outside of the axis; none if a name has
  // no value.
  std::function<std::optional<int64_t>(const Point&)> index;
};

struct RandomTensor {
  std::array<std::vector<RandomAxis>, 3> rows;  // with those of row variables
  std::array<std::vector<std::string>, 3> texts;

  Shape shape() const;
  // The cell at a point: -1 outside of the tensor, none if a name has no value.
  std::optional<int64_t> CellAt(const Point& point) const;
};

struct EinsumProgram {
  std::vector<RandomTensor> operands;
  RandomTensor result;
  std::optional<Op> op;  // none: of the only operand, or of the one at hand
  Op accum = Op::kAdd;
  std::map<std::string, int64_t> sizes;  // of the names that the operands use
  // Those of them that are concatenated: what does not stand alone in an
  // operand has its size from `sizes` only.
  std::vector<std::string> parts;

  std::string Spec() const;
  // Every combination of values; of the parts one at a time.
  void ForEachPoint(const std::function<void(const Point&)>& visit) const;
};

// From 0 to n - 1.
int64_t Below(std::mt19937_64& random, int64_t n);

EinsumProgram RandomEinsum(std::mt19937_64& random);

}  // namespace ocannl

#endif  // TESTS_RANDOM_EINSUM_H_
