// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/rewrite/rewrite.h"

#include <utility>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/schedule/rewrite/unverified.h"
#include "ocannl/core/schedule/rewrite/verified.h"

namespace ocannl::rewrite {

Rewritten Split(LoopProgram program, IteratorId loop, int64_t size) {
  return Verified(unverified::Split(std::move(program), loop, size));
}

Rewritten Reorder(LoopProgram program, absl::Span<const IteratorId> order) {
  return Verified(unverified::Reorder(std::move(program), order));
}

Rewritten Vectorize(LoopProgram program, IteratorId loop) {
  return Verified(unverified::Vectorize(std::move(program), loop));
}

Rewritten UnrollJam(LoopProgram program, IteratorId loop, int64_t factor) {
  return Verified(unverified::UnrollJam(std::move(program), loop, factor));
}

Rewritten Cut(LoopProgram program, IteratorId loop, int64_t at) {
  return Verified(unverified::Cut(std::move(program), loop, at));
}

Rewritten Distribute(LoopProgram program, IteratorId loop) {
  return Verified(unverified::Distribute(std::move(program), loop));
}

Rewritten Collapse(LoopProgram program, IteratorId outer, IteratorId inner) {
  return Verified(unverified::Collapse(std::move(program), outer, inner));
}

Rewritten Privatize(LoopProgram program, absl::string_view buffer,
                    IteratorId first, IteratorId last) {
  return Verified(
      unverified::Privatize(std::move(program), buffer, first, last));
}

Rewritten Pack(LoopProgram program, absl::string_view buffer, IteratorId loop) {
  return Verified(unverified::Pack(std::move(program), buffer, loop));
}

Rewritten Parallel(LoopProgram program, IteratorId loop) {
  return Verified(unverified::Parallel(std::move(program), loop));
}

Rewritten Fuse(LoopProgram program, IteratorId first, IteratorId second) {
  return Verified(unverified::Fuse(std::move(program), first, second));
}

Rewritten ZeroLoops(LoopProgram program, absl::string_view buffer) {
  return Verified(unverified::ZeroLoops(std::move(program), buffer));
}

Rewritten Bind(LoopProgram program, absl::Span<const Binding> bindings) {
  for (const Binding& binding : bindings) {
    OCANNL_ASSIGN_OR_RETURN(
        program,
        unverified::Bind(std::move(program), binding.loop, binding.kind));
  }
  return Verified(std::move(program));
}

Rewritten Stage(LoopProgram program, absl::string_view buffer,
                IteratorId loop) {
  return Verified(unverified::Stage(std::move(program), buffer, loop));
}

Rewritten Demote(LoopProgram program) {
  return Verified(unverified::Demote(std::move(program)));
}

Rewritten ContractArray(LoopProgram program, absl::string_view buffer,
                        IteratorId loop) {
  return Verified(unverified::ContractArray(std::move(program), buffer, loop));
}

Rewritten CrossThread(LoopProgram program, IteratorId loop) {
  return Verified(unverified::CrossThread(std::move(program), loop));
}

Rewritten SplitReduce(LoopProgram program, IteratorId loop) {
  return Verified(unverified::SplitReduce(std::move(program), loop));
}

}  // namespace ocannl::rewrite
