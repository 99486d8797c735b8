// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/state.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/call.h"
#include "ocannl/train/blocks/wide.h"

namespace ocannl::train {

absl::StatusOr<UpdateCode> UpdateStates(Model& model,
                                        absl::Span<const StateUpdate> updates) {
  UpdateCode code;
  code.init.name = "state_init";
  code.update.name = "state_update";
  for (const auto& [state, value, at] : updates) {
    // First, for it says the sizes of the state.
    OCANNL_ASSIGN_OR_RETURN(Assignments next, Forward(model, value));
    Append(code.update, next);
    OCANNL_ASSIGN_OR_RETURN(Assignments first, InitParams(model, state));
    Append(code.init, first);
    Array kept = ValueArray(model.graph, model.shapes, state.id);
    int32_t to = code.update.AddArray(std::move(kept));
    int32_t from =
        code.update.AddArray(ValueArray(model.graph, model.shapes, value.id));
    Expr leaf =
        MakeLeaf(code.update.exprs, ComputeDType(value.node().dtype), 0);
    AssignPointwise(code.update, at ? from : to, std::nullopt, leaf.id(),
                    {from});
    if (!at) continue;
    Assign& row = std::get<Assign>(code.update.list.back());
    row.lhs = to;
    row.lhs_indices.insert(row.lhs_indices.begin(), Affine(Static(*at)));
  }
  return code;
}

Tensor Dropout(Tensor x, double rate, const Training* training,
               SourceLocation where) {
  CallScope call("Dropout", "", {x}, where);
  if (!(rate >= 0 && rate < 1)) {
    return ErrorTensor(*x.graph,
                       absl::InvalidArgumentError(absl::StrCat(
                           "the rate of the dropout of ", Describe(x.node()),
                           " is ", NumberText(rate), "; it must be in [0, 1)")),
                       where);
  }
  if (training == kInference || rate == 0) return x;
  Tensor step = EmbedSymbol(*x.graph, training->step);
  Tensor kept = LessEqual(rate, Uniform(*step.graph, {.counter = step}));
  const DType dtype = DecidedDType(x);
  const Tensor scaled = InDType(Widened(x) / (1 - rate), dtype);
  return call.Of(Select(kept, scaled, 0));
}

}  // namespace ocannl::train
