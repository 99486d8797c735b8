// SPDX-License-Identifier: Apache-2.0
//
// Code as text: the notation of assignments, on the tensors of a model.
//
//   OCANNL_ASSIGN_OR_RETURN(UpdateCode step, train::ParseCode(model, R"(
//       ~~(p "sgd step";
//          { delta } =: p.grad + (!.weight_decay *. p);
//          p =- learning_rate * delta ~logic:".")
//       )", {.tensors = {{"p", w}, {"learning_rate", rate}},
//            .numbers = {{"weight_decay", 1e-4}}}));
//
// See core/notation/statements/statements.h for the statements. Values are
// expressions of the notation (core/notation/parse.h). In these, x is the value
// of a tensor, x.grad its gradient, and x.merge and x.grad.merge are those in
// the merge buffer, copied from another context by Context::CopyToMerge.
#ifndef OCANNL_TRAIN_GRAPH_CODE_H_
#define OCANNL_TRAIN_GRAPH_CODE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/notation/names.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

// The code that `text` spells, for tensors of `names` or that the user of the
// model's graph named so.
//
// `{ x } =: e` declares the array x_<p>, where p is the first tensor of the
// innermost ~~(p ...), or else x. It has the shape and the dtype of e, or one
// output axis of one cell if e consists of numbers only. An array whose first
// assignment reads it, or that is declared `like` another one, keeps its value
// from run to run: `init` sets it to 0. Later code names such a state of a
// tensor p as p.x. Where x has the shape of e with more axes, e is repeated
// along them.
//
// `~logic` says how the outermost operation of the value takes its operands:
// "." pointwise, "@" as tensors multiply, "T" its inputs for its outputs, or
// as a spec says. Where that reduces axes, each term is accumulated; `=-`
// subtracts each. A tensor that no code computes yet is computed first.
//
// Errors, with line and column except for tensors of another graph: text that
// is not in the notation, unknown names, shapes that do not fit, a tensor
// without a gradient. Also an error: an accumulation of a value that
// accumulates in another way. The model is then unchanged, except for names.
absl::StatusOr<UpdateCode> ParseCode(
    Model& model, absl::string_view text, const Names& names,
    SourceLocation where = SourceLocation::Current());

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_GRAPH_CODE_H_
