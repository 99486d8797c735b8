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

#include <cstddef>
#include <vector>

#include "absl/container/node_hash_map.h"
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

// What the brackets of one text open. The first question about a bracket scans
// it, and answers those about all brackets in it: the time of a parse is linear
// in the length of the text, not in its product with the depth of brackets.
class BracketTable {
 public:
  // Whether the next token opens an array: a parenthesis only if there is a
  // separator in it.
  bool AtArray(const Lexer& lexer);

  // Whether the array that the next token opens has numbers only.
  bool AtNumbers(const Lexer& lexer);

  // Whether next is ([1; 2; 3] : rgb) or (2.0 : q): an array with a basis.
  bool AtBasis(const Lexer& lexer);

  // The next token opens a bracket. Returns the lexer at the end of its first
  // element: a separator, or the bracket that closes it.
  Lexer FirstElementEnd(const Lexer& lexer);

 private:
  struct Entry {
    bool has_separator = false;
    bool has_numbers_only = false;
    bool is_basis = false;
    std::vector<Lexer> element_end = {};  // one, of a brace
  };

  const Entry& Find(const Lexer& lexer);
  void Scan(Lexer lexer);

  absl::node_hash_map<size_t, Entry> entries_;  // by the offset of the bracket
};

// Reads the array that starts at the next token. Errors, with their place:
// rows of different lengths, brackets in another order, bad numbers.
absl::StatusOr<ArrayText> ParseArray(Lexer& lexer, BracketTable& brackets);

// The parts of a block that `bracket` opens, stacked. Error node: they have
// several dtypes.
Tensor StackBlock(absl::string_view bracket, absl::Span<const Tensor> parts,
                  SourceLocation where);

// The bracket that closes what `open` opens.
absl::string_view ClosingOf(absl::string_view open);

// Takes an array with a basis: the basis of the only axis, of one cell if it is
// a number. Errors: other operands, more axes.
absl::StatusOr<Tensor> TakeWithBasis(Lexer& lexer, BracketTable& brackets,
                                     Graph& graph, SourceLocation where);

// Skips to the end of the text, to a closing bracket that it does not open, or
// to a token that `ends` accepts at this depth of brackets.
void SkipUntil(Lexer& lexer,
               absl::FunctionRef<bool(const Lexer& at, int depth)> ends);

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_ARRAY_H_
