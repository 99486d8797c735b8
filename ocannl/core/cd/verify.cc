// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/cd/verify.h"

#include <algorithm>
#include <cstdlib>
#include <variant>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {
namespace {

// Addresses of cells, in cells, stay far inside of 64 bits.
constexpr __int128 kMostCells = __int128{1} << 60;

class Verifier {
 public:
  Verifier(const Assignments& code, const Assign& assign)
      : code_(code), assign_(assign) {}

  absl::Status Run() const {
    const Array& lhs = code_.arrays[assign_.lhs];
    if (lhs.data != nullptr || lhs.is_merge) {
      return UserError("`", lhs.name, "` is ",
                       lhs.is_merge ? "in the merge buffer" : "a literal",
                       ", which nothing writes; assign to another array");
    }
    OCANNL_RETURN_IF_ERROR(Types(lhs));
    OCANNL_RETURN_IF_ERROR(Inside(assign_.lhs, assign_.lhs_indices,
                                  assign_.accum && !assign_.lookup));
    if (assign_.lookup) OCANNL_RETURN_IF_ERROR(TargetLookup());
    for (const Source& source : assign_.sources) {
      const bool is_ids =
          assign_.lookup && &source == &assign_.sources[assign_.lookup->ids];
      if (const auto* read = std::get_if<ReadArray>(&source)) {
        OCANNL_RETURN_IF_ERROR(Inside(read->array, read->indices, !is_ids));
      } else if (const auto* lookup = std::get_if<ReadLookup>(&source)) {
        for (const ReadArray& each : {*lookup->table, *lookup->ids}) {
          OCANNL_RETURN_IF_ERROR(Inside(each.array, each.indices, false));
        }
        OCANNL_RETURN_IF_ERROR(Integers(*lookup->ids));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status TargetLookup() const {
    if (!assign_.accum) {
      return UserError("what is stored by index must accumulate: write =+");
    }
    return Integers(std::get<ReadArray>(assign_.sources[assign_.lookup->ids]));
  }

  absl::Status Integers(const ReadArray& ids) const {
    const Array& array = code_.arrays[ids.array];
    if (IsInteger(array.dtype)) return absl::OkStatus();
    return UserError("`", array.name, "` holds indices, but is ",
                     Name(array.dtype), "; indices are integers");
  }

  absl::Status Types(const Array& lhs) const {
    const DType value = TypeOf(code_.exprs, assign_.rhs);
    OCANNL_RETURN_IF_ERROR(
        ResultType(Op::kConvert, {value}, lhs.dtype).status());
    // Logic takes every dtype: a number is true unless it is 0.
    if (!assign_.accum || *assign_.accum == Op::kAnd ||
        *assign_.accum == Op::kOr) {
      return absl::OkStatus();
    }
    const DType dtype = ComputeDType(lhs.dtype);
    OCANNL_ASSIGN_OR_RETURN(const DType sum,
                            ResultType(AccumulationOf(*assign_.accum, dtype),
                                       {dtype, dtype}, dtype));
    if (sum == dtype) return absl::OkStatus();
    return UserError("`", lhs.name, "` is ", Name(lhs.dtype),
                     ", which does not accumulate so");
  }

  // That the indices are inside of the array, or, where it `may_leave`, not too
  // far away.
  absl::Status Inside(int32_t number, const Indices& indices,
                      bool may_leave) const {
    const Array& array = code_.arrays[number];
    __int128 cells = 1;    // of the axes behind this one, with margins
    __int128 address = 0;  // of the farthest cell
    for (size_t axis = array.dims.size(); axis-- > 0;) {
      __int128 least = indices[axis].offset();
      __int128 greatest = least;
      __int128 factors = least < 0 ? -least : least;
      bool has_static = false;
      for (const Affine::Term& term : indices[axis].terms()) {
        OCANNL_ASSIGN_OR_RETURN(const int64_t range, Range(term.symbol));
        has_static = has_static || term.symbol.kind == Symbol::kStatic;
        const __int128 span = __int128{term.factor} * (range - 1);
        (span < 0 ? least : greatest) += span;
        factors += term.factor < 0 ? -__int128{term.factor} : term.factor;
      }
      const int64_t size = array.dims[axis];
      const bool leaves = least < 0 || greatest >= size;
      if (leaves && (!may_leave || has_static)) {
        return UserError("index ", axis, " of `", array.name, "` leaves the ",
                         "axis, which has size ", size, "; keep it from 0 to ",
                         size - 1);
      }
      factors +=
          std::max<__int128>(-least, 0) + std::max<__int128>(greatest, size);
      address += factors * cells;
      cells *= size + std::max<__int128>(-least, 0) +
               std::max<__int128>(greatest - size + 1, 0);
      if (cells > kMostCells || address > kMostCells) {
        return UserError("index ", axis, " of `", array.name,
                         "` leads too far; use smaller numbers");
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> Range(Symbol symbol) const {
    if (symbol.kind == Symbol::kIterator) {
      return assign_.extents[symbol.iterator()];
    }
    const StaticSymbol& index = code_.statics[symbol.number];
    if (index.range) return *index.range;
    return UserError("static index `", index.name, "` has no range, so it may ",
                     "not index an array; declare its range");
  }

  const Assignments& code_;
  const Assign& assign_;
};

}  // namespace

absl::Status VerifyAssign(const Assignments& code, const Assign& assign) {
  return Verifier(code, assign).Run();
}

}  // namespace ocannl
