// SPDX-License-Identifier: Apache-2.0
//
// EinsumSpec: which axes of an einsum's operands and result go together.
//
//   text -> EinsumSpec
//
//   "b|i->h; b|h->o => b|i->o"   operands, "=>", result; equal names are one
//   axis
//   "...|... => ...|2"           "...": any axes of that kind; 2: position 2
//   "..v..|...ij => ..v..ji"     "..v..": any axes, wherever v occurs
//   "row, col => col, row"       with one of `, * + ^ & <`, or `=` alone, names
//                                may be long and axes may be computed:
//   "2*o<+k; k => o"             windows, strides: see einsum_axis.h
//
// A row that is left out has no axes; "|x" and "->x" write that out.
#ifndef OCANNL_CORE_TENSOR_EINSUM_EINSUM_H_
#define OCANNL_CORE_TENSOR_EINSUM_EINSUM_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/tensor/einsum/einsum_axis.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

// begin..., then the axes of the row variable if there is one, then end...
// A row without a variable has all its axes in `begin`.
struct EinsumRow {
  std::vector<EinsumAxis> begin;
  std::optional<std::string> variable;  // "...batch" for ... in a batch row
  std::vector<EinsumAxis> end;

  int size() const { return static_cast<int>(begin.size() + end.size()); }
  friend bool operator==(const EinsumRow&, const EinsumRow&) = default;
};

// Calls `visit` for each axis but those of the variable, in order.
template <class Visit>
void ForEachAxis(const EinsumRow& row, Visit visit) {
  for (const EinsumAxis& axis : row.begin) visit(axis);
  for (const EinsumAxis& axis : row.end) visit(axis);
}

// The rows of one tensor, indexed by RowKind.
using EinsumSlot = std::array<EinsumRow, 3>;

template <class Visit>
void ForEachAxis(const EinsumSlot& slot, Visit visit) {
  for (const EinsumRow& row : slot) ForEachAxis(row, visit);
}

// The names in it, in order: of axes "i", of row variables "..v.."; but "_" and
// "...", which name nothing.
std::vector<std::string> NamesOf(const EinsumSlot& slot);

struct EinsumSpec {
  std::vector<EinsumSlot> operands;
  EinsumSlot result;

  friend bool operator==(const EinsumSpec&, const EinsumSpec&) = default;
};

// Reads a spec of `num_operands` operands. Errors: a spec of other operands or
// bad syntax; a name in the place of a number that is not in `numbers`.
absl::StatusOr<EinsumSpec> ParseEinsum(absl::string_view text, int num_operands,
                                       const EinsumNumbers& numbers = {});

// The error `status` with the spec `text` that has it in its message.
absl::Status WithSpec(const absl::Status& status, absl::string_view text);

// A line for errors of shapes, if commas may have made one axis of `ik`: where
// the letters of all long names are those of others.
std::string LongNameHint(const EinsumSpec& spec);

// The spec as text that ParseEinsum reads back.
std::string ToString(const EinsumSpec& spec);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_EINSUM_EINSUM_H_
