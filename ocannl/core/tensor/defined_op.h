// SPDX-License-Identifier: Apache-2.0
//
// OpDefinition: an operation of the user's, with its gradients.
//
//   OCANNL_ASSIGN_OR_RETURN(           // core/notation/statements/define.h
//       auto swish, DefineOp("swish", "v =: v1 / (1 + exp(-v1))",
//                            "g1 =+ g * (v + (1 - v) / (1 + exp(-v1)))"));
//   Tensor y = ApplyDefined(swish, {x});
#ifndef OCANNL_CORE_TENSOR_DEFINED_OP_H_
#define OCANNL_CORE_TENSOR_DEFINED_OP_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// Formulas are pointwise nodes of a graph of their own, whose leaves stand for
// the operands, the result and its gradient.
struct OpDefinition {
  std::string name;
  Graph graph;
  std::vector<TensorId> operands;
  TensorId result;
  TensorId gradient;
  // An array that the gradients use: accum of the formula `value`, over all
  // terms, in the cells of the result (slot 0) or of operand slot - 1.
  struct Intermediate {
    std::string name;
    int slot;
    Op accum;
    TensorId leaf;  // stands for it in formulas behind it
    TensorId value;
  };
  TensorId value;           // the formula of a term
  std::optional<Op> accum;  // of terms, where axes are reduced: kAdd or kMax
  // What is added to each operand's gradient; none where no gradient flows.
  std::vector<std::optional<TensorId>> gradients;
  std::vector<Intermediate> intermediates = {};
  // The gradients say which terms get one, and the result is that of the whole
  // cell. Otherwise the first term that is the greatest gets one, and the
  // result is that term.
  bool routes_gradient = false;
};

// `definition` of each element. `logic` says how the operands' axes meet: "."
// pointwise, "@" as tensors multiply, which sums, or as a spec says.
// Error node: another number of operands, operands of different dtypes or of
// two graphs, a wrong spec, a reduction by a definition without an
// accumulation.
Tensor ApplyDefined(std::shared_ptr<const OpDefinition> definition,
                    absl::Span<const Arg> args, absl::string_view logic = ".");

// The formulas with `args` for the operands, and behind them the intermediates;
// `y` for the result and `g` for its gradient, as expressions of their type.
Expr TermOf(const OpDefinition& definition, absl::Span<const Expr> args);
std::vector<std::optional<Expr>> GradientsOf(const OpDefinition& definition,
                                             absl::Span<const Expr> args,
                                             Expr y, Expr g);
std::vector<Expr> IntermediatesOf(const OpDefinition& definition,
                                  absl::Span<const Expr> args, Expr y, Expr g);

// What a cell of it is computed with, in an operation on `dtype`.
DType DTypeOf(const OpDefinition& definition,
              const OpDefinition::Intermediate& intermediate, DType dtype);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_DEFINED_OP_H_
