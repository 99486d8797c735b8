// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/widen.h"

#include <string>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/loops.h"
#include "ocannl/core/base/names.h"

namespace ocannl {
namespace {

// Whether it accumulates more than one term into cells of a narrow type, or
// starts them with a number that the type need not have.
bool IsNarrowSum(const Assignments& code, const Assign& assign) {
  const Array& lhs = code.arrays[assign.lhs];
  if (!assign.accum || !IsNarrow(lhs.dtype)) return false;
  return assign.reset || !ReachesOnce(code, assign);
}

class Widener {
 public:
  explicit Widener(const Assignments& code) : code_(code), wide_(code) {
    wide_.list.clear();
    for (const Array& array : code.arrays) names_.insert(array.name);
  }

  Assignments Run() {
    for (const Assignment& assignment : code_.list) {
      if (std::holds_alternative<BlockComment>(assignment)) {
        wide_.list.push_back(assignment);
        continue;
      }
      const auto& assign = std::get<Assign>(assignment);
      if (!Continues(assign)) {
        Close();
        if (IsNarrowSum(code_, assign)) Open(assign);
      }
      wide_.list.push_back(assignment);
      if (sum_ >= 0) std::get<Assign>(wide_.list.back()).lhs = sum_;
    }
    Close();
    return std::move(wide_);
  }

 private:
  // Whether `assign` adds to the open sum, before anything reads it.
  bool Continues(const Assign& assign) const {
    return sum_ >= 0 && assign.lhs == narrow_ && assign.accum &&
           !assign.reset && !ReadsSource(assign, narrow_);
  }

  // From here on, the array of `assign` is summed in another.
  void Open(const Assign& assign) {
    narrow_ = assign.lhs;
    const Array& stored = code_.arrays[narrow_];
    Array cells = Intermediate(
        UniqueName(absl::StrCat(stored.name, ".sum"), names_), stored);
    cells.dtype = ComputeDType(cells.dtype);
    sum_ = wide_.AddArray(std::move(cells));
    if (!assign.reset) Copy(sum_, narrow_);
  }

  void Close() {
    if (sum_ >= 0) Copy(narrow_, sum_);
    sum_ = -1;
  }

  void Copy(int32_t to, int32_t from) {
    const Expr cell = MakeLeaf(wide_.exprs, wide_.arrays[sum_].dtype, 0);
    AssignPointwise(wide_, to, std::nullopt, cell.id(), {from});
  }

  const Assignments& code_;
  Assignments wide_;
  absl::flat_hash_set<std::string> names_;
  int32_t narrow_ = -1;  // an array of code_
  int32_t sum_ = -1;     // what it becomes, in wide_; -1: none
};

}  // namespace

std::optional<Assignments> WidenSums(const Assignments& code) {
  const bool any = AnyAssign(
      code, [&](const Assign& assign) { return IsNarrowSum(code, assign); });
  if (!any) return std::nullopt;
  return Widener(code).Run();
}

}  // namespace ocannl
