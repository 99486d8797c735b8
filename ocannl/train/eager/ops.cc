// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/eager/ops.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace ocannl::train {

Ref Calls::Fail(absl::Status status) {
  status_.Update(std::move(status));
  return {};
}

Ref Calls::RecordCall(const Operation& op, absl::Span<const Ref> operands,
                      std::shared_ptr<const void> args, bool trains, Where at) {
  OpCall call = {.op = &op,
                 .operands = {},
                 .args = std::move(args),
                 .trains = trains,
                 .where = at};
  for (Ref operand : operands) {
    if (operand.epoch() != epoch_ || operand.slot() >= next_) {
      return Fail(absl::FailedPreconditionError(absl::StrCat(
          op.name, " (", ToString(at), "): operand ", call.operands.size() + 1,
          operand.epoch() == 0
              ? " is the result of an operation that failed"
              : " is a tensor of another step or session; make "
                "it in this one")));
    }
    call.operands.push_back(operand.slot());
  }
  return Record(std::move(call));
}

Ref Calls::Const(double number, Where at) {
  return Const(std::make_shared<const NdArray>(
                   NdArray::Of<float>({}, {static_cast<float>(number)})),
               at);
}

Ref Ops::Flatten(Ref x, Where at) {
  return Reshape(x, {NumElements(dims(x))}, at);
}

Ref Ops::SwapAdjacentAtDepth(Ref x, int depth, Where at) {
  Dims order(dims(x).size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int64_t>(k);
  if (depth < 0 || depth + 1 >= static_cast<int>(order.size())) {
    return Permute(x, {depth}, at);  // which says what is wrong
  }
  std::swap(order[depth], order[depth + 1]);
  return Permute(x, order, at);
}

}  // namespace ocannl::train
