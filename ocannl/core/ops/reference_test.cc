// SPDX-License-Identifier: Apache-2.0
//
// Holds README.md, the reference of the operations, to ops.def. To write it:
//
//   bazel run //ocannl/core/ops:reference_test -- --update
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/ops/op.h"
#include "tests/support/math_accuracy.h"
#include "tests/support/reference_page.h"

namespace ocannl {
namespace {

constexpr char kHead[] =
    R"(# Scalar operations

<!-- Generated from ops.def by
     bazel run //ocannl/core/ops:reference_test -- --update -->

The tables list every row of [ops.def](ops.def). The operands are `a`, `b`, ...,
and the result is `y`. If `g` is the gradient of `y`, the column of gradients
lists the term that is added to the gradient of each operand. It is `none` where
no gradient flows.

The value of a derived operation is an expression of other operations. It is
expanded in the IR before any tier sees it, so every tier computes the same
bits. Draws of random words alone reach tiers that share a block among cells. To
add a derived operation, add a row to `ops.def` and run the command above.
`//tests/ops:ops_test` then checks its value and its gradient. A primitive also
needs its definition in [number.h](number.h) and a row for C and CUDA.
)";

constexpr char kPrimitives[] = R"(
## Primitives

Primitives are exact or correctly rounded. Integers wrap around; division
truncates, and dividing an integer by 0 gives 0. `a % b` has the sign of `a`, as
in C, and is exact, for floats too. Shifting by the width or more shifts
everything out. Bitcasts such as `bits_u32(a)` see the canonical NaN,
`0x7fc00000`, for every NaN.

`min` and `max` give the second operand if one operand is NaN or both are zeros.
`minimum` and `maximum` give NaN if one operand is NaN, and the first operand if
both are equal.

Reductions by min and max (`@--`, `@^^`, `@-+`, `@^+`, `=@-`, `=@^`, pooling)
accumulate floats by `minimum` and `maximum`: a NaN among the terms gives NaN,
in any place. The gradient of a result goes to one term: the first term that
equals the result, or the first NaN, in the order of the reduced axes in memory.
Cells that windows reach outside of an operand do not count as terms.

| name | written | operands | gradients |
|---|---|---|---|
)";

constexpr char kDerived[] = R"(
## Derived operations

The definitions of the form `XValue` are in the `math_*.cc` files. The last
column is the greatest error in units of the last place, for f32 and for f64.
For f32 functions of one operand, `math_exhaustive_test` proves it by trying all
2^32 numbers; other errors are measured on a large sample. Special values follow
Annex F of the C standard.

| name | written | operands | definition | gradients | error |
|---|---|---|---|---|---|
)";

absl::string_view Operands(Typing typing) {
  switch (typing) {
    case Typing::kNumber:
      return "integers or floats";
    case Typing::kInteger:
      return "integers";
    case Typing::kFloat:
      return "floats";
    case Typing::kBits:
      return "integers or bools";
    case Typing::kWord:
      return "u32";
    case Typing::kCompare:
      return "any, gives bool";
    case Typing::kSelect:
      return "bool, any, any";
    case Typing::kConvert:
      return "any";
    case Typing::kBitcast:
      return "a number, gives one of its size";
  }
  __builtin_unreachable();
}

std::string Written(Op op) {
  const OpInfo& info = Info(op);
  if (op == Op::kConvert) return "f32(a), ...";
  if (op == Op::kBitcast) return "bits_f32(a), ...";
  if (IsInfix(op)) return absl::StrCat("a ", info.text, " b");
  std::vector<std::string> operands;
  for (int i = 0; i < info.arity; ++i) operands.emplace_back(1, 'a' + i);
  return absl::StrCat(info.text, "(", absl::StrJoin(operands, ", "), ")");
}

// `code` as a cell of a table.
std::string Cell(absl::string_view code) {
  return absl::StrCat("`", absl::StrReplaceAll(code, {{"|", "\\|"}}), "`");
}

std::string Error(Op op) {
  for (const AccuracyBound& bound : AccuracyBounds()) {
    if (bound.op == op) return absl::StrFormat("%g, %g", bound.f32, bound.f64);
  }
  return "";
}

// The text of a row's gradients, in parentheses there, as a cell.
std::string Gradients(absl::string_view text) {
  return Cell(text.substr(1, text.size() - 2));
}

std::string Page() {
  std::string primitives = kPrimitives;
  std::string derived = kDerived;
#define PRIMITIVE(name, text, arity, typing, traits, grads)                    \
  absl::StrAppend(&primitives, "| ", #name, " | ", Cell(Written(Op::k##name)), \
                  " | ", Operands(Typing::typing), " | ", Gradients(#grads),   \
                  " |\n");
#define DERIVED(name, text, arity, typing, value, grads)                       \
  absl::StrAppend(&derived, "| ", #name, " | ", Cell(Written(Op::k##name)),    \
                  " | ", Operands(Typing::typing), " | ", Cell(#value), " | ", \
                  Gradients(#grads), " | ", Error(Op::k##name), " |\n");
#include "ocannl/core/ops/ops.def"
#undef PRIMITIVE
#undef DERIVED
  return absl::StrCat(kHead, primitives, derived);
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::ReferencePageMain(argc, argv, "ocannl/core/ops/README.md",
                                   "//ocannl/core/ops:reference_test",
                                   ocannl::Page());
}
