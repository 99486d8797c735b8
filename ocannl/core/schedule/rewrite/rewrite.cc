// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/rewrite/rewrite.h"

#include <utility>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/schedule/rewrite/unverified.h"
#include "ocannl/core/schedule/rewrite/verified.h"

namespace ocannl::rewrite {

Rewritten Split(LoopProgram program, IteratorId loop, int64_t size) {
  return Verified(unverified::Split(program, loop, size), std::move(program));
}

Rewritten Reorder(LoopProgram program, absl::Span<const IteratorId> order) {
  return Verified(unverified::Reorder(program, order), std::move(program));
}

Rewritten Vectorize(LoopProgram program, IteratorId loop) {
  return Verified(unverified::Vectorize(program, loop), std::move(program));
}

Rewritten UnrollJam(LoopProgram program, IteratorId loop, int64_t factor) {
  return Verified(unverified::UnrollJam(program, loop, factor),
                  std::move(program));
}

Rewritten Cut(LoopProgram program, IteratorId loop, int64_t at) {
  return Verified(unverified::Cut(program, loop, at), std::move(program));
}

Rewritten Unroll(LoopProgram program, IteratorId loop) {
  return Verified(unverified::Unroll(program, loop), std::move(program));
}

Rewritten Enclose(LoopProgram program, IteratorId first, IteratorId last) {
  return Verified(unverified::Enclose(program, first, last),
                  std::move(program));
}

Rewritten Distribute(LoopProgram program, IteratorId loop) {
  return Verified(unverified::Distribute(program, loop), std::move(program));
}

Rewritten Collapse(LoopProgram program, IteratorId outer, IteratorId inner) {
  return Verified(unverified::Collapse(program, outer, inner),
                  std::move(program));
}

Rewritten Privatize(LoopProgram program, absl::string_view buffer,
                    IteratorId first, IteratorId last) {
  return Verified(unverified::Privatize(program, buffer, first, last),
                  std::move(program));
}

Rewritten Pack(LoopProgram program, absl::string_view buffer, IteratorId first,
               IteratorId last, absl::Span<const IteratorId> along) {
  return Verified(unverified::Pack(program, buffer, first, last, along),
                  std::move(program));
}

Rewritten Parallel(LoopProgram program, IteratorId loop) {
  return Verified(unverified::Parallel(program, loop), std::move(program));
}

Rewritten Fuse(LoopProgram program, IteratorId first, IteratorId second) {
  return Verified(unverified::Fuse(program, first, second), std::move(program));
}

Rewritten ZeroLoops(LoopProgram program, absl::string_view buffer) {
  return Verified(unverified::ZeroLoops(program, buffer), std::move(program));
}

Rewritten Bind(LoopProgram program, absl::Span<const Binding> bindings) {
  for (const Binding& binding : bindings) {
    OCANNL_RETURN_IF_ERROR(
        unverified::Bind(program, binding.loop, binding.kind));
  }
  return Verified(absl::OkStatus(), std::move(program));
}

Rewritten Stage(LoopProgram program, absl::string_view buffer,
                IteratorId loop) {
  return Verified(unverified::Stage(program, buffer, loop), std::move(program));
}

Rewritten Prefetch(LoopProgram program, IteratorId loop) {
  return Verified(unverified::Prefetch(program, loop), std::move(program));
}

Rewritten Demote(LoopProgram program) {
  return Verified(unverified::Demote(program), std::move(program));
}

Rewritten ContractArray(LoopProgram program, absl::string_view buffer,
                        IteratorId loop) {
  return Verified(unverified::ContractArray(program, buffer, loop),
                  std::move(program));
}

Rewritten CrossThread(LoopProgram program, IteratorId loop) {
  return Verified(unverified::CrossThread(program, loop), std::move(program));
}

Rewritten Sink(LoopProgram program, IteratorId loop) {
  return Verified(unverified::Sink(program, loop), std::move(program));
}

Rewritten SplitReduce(LoopProgram program, IteratorId loop) {
  return Verified(unverified::SplitReduce(program, loop), std::move(program));
}

}  // namespace ocannl::rewrite
