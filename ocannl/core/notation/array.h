// SPDX-License-Identifier: Apache-2.0
//
// Arrays of numbers written down in the notation. The bracket gives the kind
// of the axis: [...] output, (...) input, [|...|] batch.
//
//   [(1, 2, 3); (4, 5, 6)]   ->   shape 3->2, values 1 2 3 4 5 6
//
// Brackets nest in memory order, batch outside output outside input; `,` and
// `;` both separate. What is in parentheses without a separator is no axis.
#ifndef OCANNL_CORE_NOTATION_ARRAY_H_
#define OCANNL_CORE_NOTATION_ARRAY_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

struct ArrayText {
  Shape shape;
  std::vector<float> values;   // in memory order
  std::vector<double> digits;  // the same; the text is rounded to each
};

// Reads the array that starts at the next token. Errors, with their place:
// rows of different lengths, brackets in another order, bad numbers.
absl::StatusOr<ArrayText> ParseArray(Lexer& lexer);

// Whether the next token opens an array: a parenthesis only if there is a
// separator in it.
bool AtArray(const Lexer& lexer);

// Skips to the end of the text, to a closing bracket that it does not open, or
// to a token that `ends` accepts at this depth of brackets.
void SkipUntil(Lexer& lexer,
               absl::FunctionRef<bool(const Lexer& at, int depth)> ends);

// The same up to a separator outside of brackets.
void SkipElement(Lexer& lexer);

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_ARRAY_H_
