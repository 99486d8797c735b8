// SPDX-License-Identifier: Apache-2.0
//
// EinsumProgram: what an einsum means, said anew: which cell of each tensor a
// value of every name picks. Evaluate walks over all values.
#ifndef OCANNL_FUZZ_NOTATION_EINSUM_PROGRAM_H_
#define OCANNL_FUZZ_NOTATION_EINSUM_PROGRAM_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl::fuzz {

// A value for each name; none for a part of a concatenation that is not the
// one at hand.
using Point = std::map<std::string, std::optional<int64_t>>;

struct ProgramAxis {
  std::string text;
  std::vector<std::string> names;  // in it
  int64_t size;
  // The index at a point, which may be outside of the axis; none if a name has
  // no value.
  std::function<std::optional<int64_t>(const Point&)> index;
};

// The index of ProgramAxis where the parts `parts`, of `sizes`, stand one after
// the other.
std::function<std::optional<int64_t>(const Point&)> ConcatenatedIndex(
    std::vector<std::string> parts, std::map<std::string, int64_t> sizes);

struct ProgramTensor {
  std::array<std::vector<ProgramAxis>, 3> rows;  // with those of row variables
  std::array<std::vector<std::string>, 3> texts;

  Shape shape() const;
  // The cell at a point: -1 outside of the tensor, none if a name has no value.
  std::optional<int64_t> CellAt(const Point& point) const;
  bool HasName(const std::string& name) const;
};

struct EinsumProgram {
  std::vector<ProgramTensor> operands;
  ProgramTensor result;
  std::optional<Op> op;  // none: of the only operand, or of the one at hand
  Op accum = Op::kAdd;
  std::map<std::string, int64_t> sizes;  // of the names that the operands use
  // Those of them that are concatenated: of a group one is there at a time. One
  // that stands alone in no operand has its size from `sizes` only.
  std::vector<std::vector<std::string>> groups;

  std::string Spec() const;
  // Every combination of values.
  void ForEachPoint(const std::function<void(const Point&)>& visit) const;
};

using Values = std::vector<double>;

// What the definition says: the result, and the gradient of sum(c * result)
// for each operand.
struct EinsumValues {
  Values result;
  std::vector<Values> gradients;
};
EinsumValues Evaluate(const EinsumProgram& program,
                      const std::vector<Values>& operands, const Values& c);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_NOTATION_EINSUM_PROGRAM_H_
