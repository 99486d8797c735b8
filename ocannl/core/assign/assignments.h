// SPDX-License-Identifier: Apache-2.0
//
// Assignments: which arrays get which values, in order; printed as .cd text.
//
//   n35 =:+ w1 * moons_input ~logic:"@";
//   n37 =: b1 + n35;
//   w1.grad =+ n35.grad * moons_input ~logic:"@ [lhs<-rhs1, rhs1<-lhs]";
//
// `=:` sets, `=+` accumulates, `=:+` resets to the neutral element and
// accumulates. An array is identified by its name.
#ifndef OCANNL_CORE_ASSIGN_ASSIGNMENTS_H_
#define OCANNL_CORE_ASSIGN_ASSIGNMENTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/index/affine.h"
#include "ocannl/core/index/projections.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

enum class ArrayKind : uint8_t {
  kComputed,      // an intermediate value: may be inlined or live in scratch
  kMaterialized,  // keeps its value after a run
  kData,          // comes from the host
};

struct Array {
  std::string name;
  DType dtype;
  Dims dims;
  ArrayKind kind;
  std::shared_ptr<const NdArray> data;  // of kData

  friend bool operator==(const Array&, const Array&) = default;
};

// What leaf k of an assignment's right-hand side reads at a point of the loops.
struct ReadArray {
  int32_t array;
  Indices indices;
  double outside = 0;  // what the cells hold that are outside of the array
};
struct ReadIndex {
  Affine index;      // as an i64
  std::string text;  // how .cd writes it: "!@step"
};
using Source = std::variant<ReadArray, ReadIndex>;

// For every point of the loops over `extents`, in order:
//   lhs[lhs_indices] = accum(lhs[lhs_indices], rhs)
// What an accumulation adds to cells outside of the array is lost.
struct Assign {
  int32_t lhs;
  Indices lhs_indices;
  std::optional<Op> accum;  // none: plain assignment
  bool reset;  // first set every cell to the neutral element, or else 0
  ExprId rhs;  // in Assignments::exprs
  std::vector<Source> sources;
  std::vector<int64_t> extents;
  std::string logic;  // for .cd: "", ".", "@" or a spec; projections decide
};

struct BlockComment {
  std::string text;
};

using Assignment = std::variant<Assign, BlockComment>;

struct Assignments {
  std::string name;  // of the routine
  std::vector<StaticSymbol> statics;
  std::vector<Array> arrays;
  ExprPool exprs;  // Leaf k is source k of the assignment
  std::vector<Assignment> list;

  // The number of the array, added if its name is new; a kComputed array may
  // become another kind. Our fault (CHECK) if dtype or dims differ.
  int32_t AddArray(Array array);
};

// From now on the array `name` keeps its value after a run: "w.grad". Returns
// whether there is one.
bool Keep(Assignments& code, absl::string_view name);

// Appends the code of `from`, of the same graph, to `to`.
void Append(Assignments& to, const Assignments& from);

// Whether some assignment `is` so.
bool AnyAssign(const Assignments& code,
               absl::FunctionRef<bool(const Assign&)> is);

// The value that leaves every other unchanged under `accum`: 0 for kAdd and
// kSub, 1 for kMul, -inf for kMax, +inf for kMin.
double NeutralElement(Op accum);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_ASSIGNMENTS_H_
