// SPDX-License-Identifier: Apache-2.0
//
// CaseState: the values that a random case has so far, each with its axes.
#ifndef OCANNL_FUZZ_BATCHES_CASE_STATE_H_
#define OCANNL_FUZZ_BATCHES_CASE_STATE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/fuzz/batches/batch_case.h"
#include "ocannl/fuzz/programs/random.h"

namespace ocannl::fuzz {

// Points that the loops of one operation may have, for one row.
inline constexpr int64_t kMostPoints = 10'000;

struct CaseAxis {
  std::string size;  // its name; "#" for the axis of rows
  RowKind row = RowKind::kOutput;
  std::string text = {};  // in the spec that is being written

  bool is_rows() const { return size == "#"; }
};
using CaseAxes = std::vector<CaseAxis>;

struct CaseValue {
  std::string text;
  CaseAxes axes;
  bool is_zero = false;  // in rows that are padding
};

// What rows that are padding must not change.
enum class CaseKind : uint8_t {
  kRows,      // there are none
  kTerms,     // sums over rows, of operands that are 0 in padding
  kGradients  // gradients of parameters, where those of padding are 0
};

// Where the axis of rows stands.
enum class RowsPlace : uint8_t { kBatch, kFirst, kAny };

struct CaseState {
  Random& random;
  CaseKind kind;
  RowsPlace place;
  int64_t most_cells;  // of one row of a value
  BatchCase made = {};
  int64_t points = 1;  // of the loops of one row, the most
  std::vector<CaseValue> values = {};
  int parameters = 0;
  int letters = 0;
  bool rows_are_summed = false;
  // Products of vectors, which are dots, in lanes, where a row is alone. If one
  // of the vectors has rows and the other has not, they are chains.
  bool has_dots = false;

  // The name of a new size, or of an old one, of at most `most` cells.
  std::string Size(int64_t most);
  std::string NewSize(int64_t cells);
  int64_t CellsOf(const std::string& size) const;
  int64_t CellsOf(absl::Span<const CaseAxis> axes) const;  // without rows

  std::string Letter();
  // Names the axes in specs: rows by `#`, others by new letters.
  CaseAxes Named(CaseAxes axes);
  // With an axis of rows where the case has it.
  CaseAxes WithRows(CaseAxes axes);
  // Whether values must be 0 in padding.
  bool KeepsZeros() const {
    return kind == CaseKind::kTerms && !rows_are_summed;
  }

  const CaseValue& Pick();  // mostly the last one
  // An axis that is not of rows; none: there is none.
  std::optional<size_t> PickOther(const CaseAxes& axes);
  // Mostly in order; rows stand where the case has them.
  CaseAxes Shuffled(CaseAxes axes);
  // Whether an operation of so many points for one row is small enough.
  bool Fits(int64_t of_one_row);
  // A new parameter: "{w0; i=[s1]; o=[s0]}".
  std::string Parameter(absl::Span<const CaseAxis> axes);
  // A new operand.
  CaseValue Operand(CaseAxes axes, BatchPadding padding);
  const CaseValue& Let(CaseValue value);
};

// "#|a, b", by `text`, and by `size`.
std::string SlotOf(absl::Span<const CaseAxis> axes);
std::string ShapeTextOf(absl::Span<const CaseAxis> axes);

// `v symbol "operand => result"`
std::string ReducedText(const CaseValue& v, absl::string_view symbol,
                        absl::Span<const CaseAxis> operand,
                        absl::Span<const CaseAxis> result);

// `v` reduced along axis `k`, which has one cell afterwards.
CaseValue ReducedAlong(CaseState& state, const CaseValue& v,
                       absl::string_view symbol, size_t k);

// The axes that are not of rows.
std::vector<size_t> OtherAxes(const CaseAxes& axes);

// An operation on the values so far; none: it does not fit them.
struct CaseOp {
  std::optional<CaseValue> (*make)(CaseState& state);
  int weight;
};
absl::Span<const CaseOp> PlainOps();    // case_ops.cc
absl::Span<const CaseOp> ProductOps();  // case_products.cc

// The sum over rows that a case of kTerms has (case_sums.cc).
CaseValue SumOverRows(CaseState& state);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_BATCHES_CASE_STATE_H_
