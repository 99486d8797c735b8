// SPDX-License-Identifier: Apache-2.0
//
// The notation: tensor expressions as text, like the source documents' %op.
//
//   text -> nodes of a Graph
//
//   {w2} * relu({b1; o=[16]} + {w1} * x)           parameters; * is of tensors
//   (relu(1 - y *. h) ++ "...|... => 0") /. !..n   einsum; a C++-side number
//   (moons @| batch_n) + [(1, 2); (3, 4)]          a slice; an array 2->2
//   let f x = {w} * x + 1 in relu (f "infer")      let.h; a placeholder
//   [x; y]  (x, y)  [| x; y |]  ([1; 2] : q)       blocks and bases: array.h
//   (x > 1) *. x + max x y (* a comment *)         bools count as 0 and 1
//
// Behind a spec may stand what its names are: ["i" = 3; "..v.." = n; "j" = "i";
// "k" = 2 * "i"; "..u.." = [2, 3]; "l" >= 4], and names for what sizes they
// have, to be used further right: (x ++ "...|i => ...|0" ["i" : n]) /. n.
//
// Operators, lowest precedence first; all but **., @^ and @- associate to the
// left:
//   ||   &&   |   ^   &   < <= > >= = == <> !=   @| @^ @- @^^ @^+ @-- @-+
//   << >>   + - -?/ -?^ ++ +++ +* ++^   * *. / /. %   **.   unary -   f(x), f x
// A unary - in front of **. is an error that shows where parentheses may go.
#ifndef OCANNL_CORE_NOTATION_PARSE_H_
#define OCANNL_CORE_NOTATION_PARSE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/notation/names.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

struct ParsedTensor {
  Tensor tensor;
  std::vector<Tensor> parameters;  // that the text declares, in its order
};

// Adds the expression that `text` spells to `graph`; its nodes say `where`.
//
// A name is a parameter declared further left, or in `names`, or a function,
// or what the user of the graph named so. {w: f32 = init; i=[2]; o=[3, 4]}
// declares a parameter; everything but its name may be left out, and {w} again
// is the same one. A size may have a basis behind it, as in o=[28, 3 rgb]: axes
// of other bases do not go with it (core/shape/bases.h). If the graph has a `w`
// already, which is not in `names`, the new one is w_2.
//
// Errors, with line and column: text that is not in the notation, unknown
// names, wrong specs and dtypes, and numbers out of range. More than 200 nested
// brackets and prefixes, and more than 10,000 infix operators, are errors too.
// Without a place: `names` of another graph. The graph is then as before.
// Shapes are not checked here: see InferShapes.
absl::StatusOr<ParsedTensor> ParseTensor(
    Graph& graph, absl::string_view text, const Names& names,
    SourceLocation where = SourceLocation::Current());

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_PARSE_H_
