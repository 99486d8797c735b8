// SPDX-License-Identifier: Apache-2.0
//
// Arrays of numbers written down in the notation. The bracket gives the kind
// of the axis: [...] output, (...) input, [|...|] batch.
//
//   [(1, 2, 3); (4, 5, 6)]   ->   shape 3->2, values 1 2 3 4 5 6
//
// What has other elements than numbers is a block: [a; b] stacks tensors of one
// shape along a new first axis of that kind.
//
// Brackets nest in memory order, batch outside output outside input; `,` and
// `;` both separate. What is in parentheses without a separator is no axis.
#ifndef OCANNL_CORE_NOTATION_ARRAY_H_
#define OCANNL_CORE_NOTATION_ARRAY_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/core/tensor/tensor.h"

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

// Whether the array that the next token opens has numbers only.
bool AtNumbers(const Lexer& lexer);

// The parts of a block that `bracket` opens, stacked. Error node: they have
// several dtypes.
Tensor StackBlock(absl::string_view bracket, absl::Span<const Tensor> parts,
                  SourceLocation where);

// The bracket that closes what `open` opens.
absl::string_view ClosingOf(absl::string_view open);

// Whether next is ([1; 2; 3] : rgb) or (2.0 : q), and takes it: the basis of
// the only axis, of one cell if it is a number. Errors: other operands, more
// axes.
bool AtBasis(Lexer lexer);
absl::StatusOr<Tensor> TakeWithBasis(Lexer& lexer, Graph& graph,
                                     SourceLocation where);

// Skips to the end of the text, to a closing bracket that it does not open, or
// to a token that `ends` accepts at this depth of brackets.
void SkipUntil(Lexer& lexer,
               absl::FunctionRef<bool(const Lexer& at, int depth)> ends);

// The same up to a separator outside of brackets.
void SkipElement(Lexer& lexer);

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_ARRAY_H_
