// SPDX-License-Identifier: Apache-2.0
//
// FusedBody: the statements that FuseNests has made so far, and which of them
// name a buffer.
#ifndef OCANNL_CORE_SCHEDULE_CPU_FUSED_BODY_H_
#define OCANNL_CORE_SCHEDULE_CPU_FUSED_BODY_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/cpu/fuse_nests.h"

namespace ocannl {

class FusedBody {
 public:
  // `program`, of which the statements are, outlives this object.
  explicit FusedBody(LoopProgram& program) : program_(program) {
    stmts_.reserve(program.body.stmts.size());
    nests_.reserve(program.body.stmts.size());
  }

  void Append(Stmt stmt, std::shared_ptr<const FusedNest> nest);

  // The statements that name one of the buffers, in order.
  std::vector<Stmt> Naming(absl::Span<const BufferId> buffers);

  // Takes away what initializes all of the buffer of `cell` for the next nest
  // alone: its zero_out, or loops that assign to each cell (InitialValue).
  // `value` is what the cell gets. nullopt: there is none, or what it reads is
  // written behind it or among `written`, the buffers of what runs in the loops
  // of that nest.
  struct Init {
    Stmt stmt;
    ExprId value;
  };
  std::optional<Init> TakeInit(const Access& cell,
                               absl::Span<const BufferId> written = {});

  // The statements become the body of `program`.
  FusedProgram MoveTo(LoopProgram program) &&;

 private:
  // Has uses_ know all of stmts_.
  void CollectUses();

  LoopProgram& program_;
  std::vector<Stmt> stmts_;
  FusedNests nests_;  // of each of them
  size_t seen_ = 0;   // of them are in uses_
  absl::flat_hash_map<BufferId, std::vector<size_t>> uses_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_FUSED_BODY_H_
