// SPDX-License-Identifier: Apache-2.0
//
// The operators of the notation and their precedence: as in OCaml, where the
// notation comes from; those on bits, which it does not have, as in C.
#ifndef OCANNL_CORE_NOTATION_OPERATORS_H_
#define OCANNL_CORE_NOTATION_OPERATORS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// What stands after its left operand. Everything is left-associative but **.
struct InfixOperator {
  enum Form : uint8_t {
    kPointwise,   // a + b
    kLogical,     // a && b, of bools and numbers
    kSwapped,     // a > b, which is op(b, a)
    kCompose,     // a * b
    kReduceOne,   // a ++ "spec"
    kReducePair,  // a +* "spec" b
    kReduceMany,  // a ++^ "spec" b c: as many as the spec has; +* 2 or more
    kSlice,       // a @| static_index
    kFirst,       // a -@> b, which is a
    kSecond,      // a -/> b, which is b
    kNumbers,     // a -. b, which is a number as they are
  };
  absl::string_view symbol;
  int precedence;  // from 1
  Form form;
  std::optional<Op> op;
  std::optional<Op> accum;  // of the reductions

  bool right_associative() const {
    return op == Op::kPow || op == Op::kMax || op == Op::kMin;
  }
  bool compares() const {
    return op == Op::kLess || op == Op::kLessEqual || op == Op::kEqual ||
           op == Op::kNotEqual;
  }
};

// The error of a comparison with a comparison to its left.
inline constexpr absl::string_view kComparisonsDoNotChain =
    "comparisons do not chain; write 1 < x && x < 3, or parentheses around one "
    "of them";

struct AssignOperator {
  absl::string_view symbol;  // "=:+"
  std::optional<Op> accum;
  bool reset;  // to the neutral element of `accum` first
};

// All of them, longest first where one begins another. && and || of numbers
// give 1 or 0.
inline constexpr AssignOperator kAssignOperators[] = {
    {"=:@^", Op::kMax, true},       {"=:@-", Op::kMin, true},
    {"=:**", Op::kPow, true},       {"=:&&", Op::kAnd, true},
    {"=:||", Op::kOr, true},        {"=:?/", Op::kReluGate, true},
    {"=:?^", Op::kSat01Gate, true}, {"=:+", Op::kAdd, true},
    {"=:-", Op::kSub, true},        {"=:*", Op::kMul, true},
    {"=:/", Op::kDiv, true},        {"=:", {}, false},
    {"=@^", Op::kMax, false},       {"=@-", Op::kMin, false},
    {"=**", Op::kPow, false},       {"=&&", Op::kAnd, false},
    {"=||", Op::kOr, false},        {"=?/", Op::kReluGate, false},
    {"=?^", Op::kSat01Gate, false}, {"=+", Op::kAdd, false},
    {"=-", Op::kSub, false},        {"=*", Op::kMul, false},
    {"=/", Op::kDiv, false},
};

// Takes the operator that is next; null if none is.
const AssignOperator* AcceptAssign(Lexer& lexer);

// Takes logic:"..." after its `~` and returns the quoted token. `what`
// describes it in an error.
absl::StatusOr<Token> TakeLogic(Lexer& lexer, absl::string_view what);

// The operator that is written `symbol`, or null.
const InfixOperator* FindInfix(absl::string_view symbol);

// A spec with names for the parts of concatenations that are numbers of cells.
struct NamedParts {
  std::string spec;
  std::vector<std::pair<std::string, int64_t>> sizes;
};

// "i => 1^i" -> "i => cells_1^i", of which cells_1 is 1. Error: a part of no
// cells.
absl::StatusOr<NamedParts> NameParts(absl::string_view spec);

// Takes the spec of `infix`, and sets how many operands kReduceMany has.
// Errors: there is none, and those of ParseEinsum.
absl::StatusOr<absl::string_view> TakeSpec(Lexer& lexer,
                                           const InfixOperator& infix,
                                           const EinsumNumbers& numbers,
                                           size_t& operands);

// What `infix`, no slice, makes of its operands; a reduction does so by `spec`,
// where a number may be a part of a concatenation with as many cells:
// "i => 1^i" puts a 0 before the cells, or the infinity of kMax or kMin.
Tensor ApplyInfix(const InfixOperator& infix, absl::string_view spec,
                  std::vector<Arg> args, const EinsumNumbers& numbers);

// All operators, brackets and marks, longest first, as Lexer wants them.
std::vector<absl::string_view> NotationSymbols();

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_OPERATORS_H_
