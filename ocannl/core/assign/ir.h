// SPDX-License-Identifier: Apache-2.0
//
// Assignments: which arrays get which values, in order; printed as .cd text.
//
//   n35 =:+ w1 * moons_input ~logic:"j, k; i, k => i, j";
//   n37 =: b1 + n35 ~logic:"j; i, j => i, j";
//   w1.grad =+ n35.grad * moons_input ~logic:"k, i; k, j => i, j";
//
// `=:` sets, `=+` accumulates, `=:+` resets to the neutral element and
// accumulates. An array is identified by its name. core/cd has the text.
#ifndef OCANNL_CORE_ASSIGN_IR_H_
#define OCANNL_CORE_ASSIGN_IR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/containers/stable_vector.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/names.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/index/affine.h"
#include "ocannl/core/index/projections.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/memory_mode.h"
#include "ocannl/core/tensor/source.h"

namespace ocannl {

struct Array {
  std::string name;
  DType dtype;
  Dims dims;
  // None: an intermediate value, which may be inlined or live in scratch.
  AskedMemory memory = {};
  std::shared_ptr<const NdArray> data = nullptr;  // of the host; read only
  bool is_merge = false;      // is in the merge buffer of the stream; read only
  SourceLocation where = {};  // that made the tensor, if it is known
};

namespace assign_ir {

// What leaf k of an assignment's right-hand side reads at a point of the loops.
struct ReadArray {
  int32_t array;
  Indices indices;
  double outside = 0;  // what the cells hold that are outside of the array
};
struct ReadIndex {
  Affine index;  // as an i64
};
// A cell whose index on `axis` is what a cell of integers holds; 0 where that
// is outside of the axis. The other indices stay inside.
struct ReadLookup {
  Boxed<ReadArray> table;  // its index on the axis is 0
  int32_t axis;
  Boxed<ReadArray> ids;
};
using Source = std::variant<ReadArray, ReadIndex, ReadLookup>;

// That the index of the left-hand side on `axis` is what a source reads, a cell
// of integers.
struct LookedUpAxis {
  int32_t axis;  // where lhs_indices is 0
  int32_t ids;   // a ReadArray, by its number
};

// For every point of the loops over `extents`, in order:
//   lhs[lhs_indices] = accum(lhs[lhs_indices], rhs)
// where kMin and kMax of floats keep a NaN: AccumulationOf.
// What an accumulation adds to cells outside of the array is lost.
struct Assign {
  int32_t lhs;
  std::optional<Op> accum;  // none: plain assignment
  bool reset;  // first set every cell to the neutral element, or else 0
  Indices lhs_indices;
  ExprId rhs;  // in Assignments::exprs
  std::optional<LookedUpAxis> lookup = std::nullopt;  // if it accumulates
  std::vector<Source> sources;
  LoopExtents extents;
};

struct BlockComment {
  std::string text;
};

using Assignment = std::variant<Assign, BlockComment>;

}  // namespace assign_ir

struct Assignments {
  Assignments();
  Assignments(const Assignments&);
  Assignments(Assignments&&) noexcept;
  Assignments& operator=(const Assignments&);
  Assignments& operator=(Assignments&&) noexcept;
  ~Assignments();

  std::string name;  // of the routine
  std::vector<StaticSymbol> statics;
  // In blocks, as the list: long code is not copied where it grows.
  StableVector<Array> arrays;
  ExprPool exprs;  // Leaf k is source k of the assignment
  StableVector<assign_ir::Assignment> list;
  // The first contradiction between what was asked for of one array.
  absl::Status contradiction;
  // The arrays that AddArray has seen: code that renames arrays adds none.
  NameTable numbers;

  // The number of the array, added if its name is new, else with what both ask
  // for. CHECK-fails if dtype or dims differ, or one is in the merge
  // buffer.
  int32_t AddArray(Array array);
  // The number of the array of that name, if AddArray has seen it.
  std::optional<int32_t> FindArray(absl::string_view array) const;
};

// An intermediate value with the dtype and the dims of `like`.
Array Intermediate(std::string name, const Array& like);

// The array `of` of another context, when it is in the merge buffer.
Array MergeArray(const Array& of);

// Asks for where the array `name` of `code` lives: "w.grad". Errors: NotFound:
// there is no such array; what was asked for before contradicts this.
absl::Status SetMemoryMode(Assignments& code, absl::string_view name,
                           const MemoryRequest& request);

// From now on the array keeps its value after a run. Errors: the same.
absl::Status Keep(Assignments& code, absl::string_view name,
                  SourceLocation where = SourceLocation::Current());

// Appends the code of `from`, of the same graph, to `to`.
void Append(Assignments& to, const Assignments& from);
void Append(Assignments& to, Assignments&& from);

// Whether the array is a gradient whose memory mode nobody asked for. A routine
// that reads it before computing it takes the values that another one kept.
bool IsOpenGradient(const Array& array);

// What its routine is called: code.name, or where that is empty, after the last
// array that it assigns: "w_code".
std::string RoutineName(const Assignments& code);

// What a cell is reset to before `accum`: the value that leaves every other
// unchanged, such as 0 for kAdd and -inf for kMax. 1 for kDiv and kPow, and for
// the gates a value that is open.
double NeutralElement(Op accum);

// What accumulates terms of `dtype` by `accum`: for kMin and kMax of floats the
// operations that a NaN passes, else `accum`.
Op AccumulationOf(Op accum, DType dtype);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_IR_H_
