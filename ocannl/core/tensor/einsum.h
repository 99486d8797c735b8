// SPDX-License-Identifier: Apache-2.0
//
// EinsumSpec: which axes of the operands and of the result go together.
//
//   text -> EinsumSpec
//
//   "b|i->h; b|h->o => b|i->o"   operands, "=>", result; equal names are one
//   axis
//   "...|... => ...|2"           "...": any axes of that kind; 2: position 2
//   "..v..|...ij => ..v..ji"     "..v..": any axes, wherever v occurs
//   "row, col => col, row"       with one of `, * + ^ & <` names may be long
//
// A row that is left out has no axes; "|x" and "->x" write that out.
#ifndef OCANNL_CORE_TENSOR_EINSUM_H_
#define OCANNL_CORE_TENSOR_EINSUM_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

// A named axis, or a position: then `name` is empty. "_" is an axis on its own.
struct EinsumAxis {
  std::string name;
  int64_t position = 0;

  bool is_position() const { return name.empty(); }
  friend bool operator==(const EinsumAxis&, const EinsumAxis&) = default;
};

// begin..., then the axes of the row variable if there is one, then end...
// A row without a variable has all its axes in `begin`.
struct EinsumRow {
  std::vector<EinsumAxis> begin;
  std::optional<std::string> variable;  // "...batch" for ... in a batch row
  std::vector<EinsumAxis> end;

  int size() const { return static_cast<int>(begin.size() + end.size()); }
  friend bool operator==(const EinsumRow&, const EinsumRow&) = default;
};

// The rows of one tensor, indexed by RowKind.
using EinsumSlot = std::array<EinsumRow, 3>;

struct EinsumSpec {
  std::vector<EinsumSlot> operands;
  EinsumSlot result;

  friend bool operator==(const EinsumSpec&, const EinsumSpec&) = default;
};

// Reads a spec of `num_operands` operands. Errors: a spec of other operands or
// bad syntax; what is not supported, such as strides and concatenation.
absl::StatusOr<EinsumSpec> ParseEinsum(absl::string_view text,
                                       int num_operands);

// The spec as text that ParseEinsum reads back.
std::string ToString(const EinsumSpec& spec);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_EINSUM_H_
