// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/eager/op_by_op.h"

#include <utility>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

absl::StatusOr<TapeRoutine> OpByOp::Link(uint32_t slot) {
  Model& model = tape_->model();
  OCANNL_ASSIGN_OR_RETURN(const Assignments code,
                          Forward(model, tape_->tensor(slot)));
  absl::StatusOr<TapeRoutine> linked =
      TapeRoutine::Link(*tape_, code, context_);
  // So that it can be asked for again.
  if (!linked.ok()) {
    absl::erase_if(model.computed_by.forward, [&](const auto& root) {
      return root.second == tape_->tensor(slot).id;
    });
  }
  return linked;
}

absl::Status OpByOp::Write(const std::string& param, const ParamList& params) {
  OCANNL_ASSIGN_OR_RETURN(const NdArray value, params.Get(*params.Find(param)));
  return context_.Write(param, value, Context::Unused::kIsLeft);
}

absl::Status OpByOp::Compute(uint32_t slot, const ParamList* params,
                             int64_t step) {
  const OpCall& call = tape_->calls()[slot];
  const std::string& name = tape_->tensor(slot).node().name;
  if (call.op == &kIndex) return absl::OkStatus();
  if (call.op == &kParam) return Write(name, *params);
  if (IsLeaf(call)) {
    return context_.Write(name, *tape_->leaf(slot).array,
                          Context::Unused::kIsLeft);
  }
  if (!tape_->IsComputed(slot)) return absl::OkStatus();
  for (TensorId made : tape_->made(slot)) {
    OCANNL_RETURN_IF_ERROR(Write(tape_->model().graph[made].name, *params));
  }
  if (!routines_[slot]) {
    OCANNL_ASSIGN_OR_RETURN(routines_[slot], Link(slot));
  }
  return routines_[slot]->Run(*tape_, step);
}

absl::Status OpByOp::ComputeUpTo(uint32_t slot, uint64_t epoch,
                                 const ParamList* params, int64_t step) {
  if (std::exchange(epoch_, epoch) != epoch) computed_ = 0;
  routines_.resize(tape_->calls().size());
  for (; computed_ <= slot; ++computed_) {
    OCANNL_RETURN_IF_ERROR(Compute(computed_, params, step));
  }
  return absl::OkStatus();
}

absl::StatusOr<NdArray> OpByOp::Read(uint32_t slot) {
  if (tape_->calls()[slot].op == &kIndex) {
    return UserError("an Index has no value to read");
  }
  OCANNL_ASSIGN_OR_RETURN(NdArray value,
                          context_.Read(tape_->tensor(slot).node().name));
  return value;
}

}  // namespace ocannl::train
