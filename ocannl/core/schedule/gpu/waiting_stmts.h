// SPDX-License-Identifier: Apache-2.0
//
// WaitingStmts: statements of a program that a planner takes one after the
// other. The body of the program has only those that it looks at, as a rewrite
// takes as long as the body is.
//
//   waiting.Begin();
//   while (waiting.Has(0)) {
//     ...                       plans statement 0, with others that it Has
//     waiting.Done();
//   }
//   waiting.End();
#ifndef OCANNL_CORE_SCHEDULE_GPU_WAITING_STMTS_H_
#define OCANNL_CORE_SCHEDULE_GPU_WAITING_STMTS_H_

#include <cstddef>
#include <vector>

#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/gpu/last_uses.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"

namespace ocannl::gpu {

class WaitingStmts {
 public:
  // All outlive it; the rewriter is of the program. Without Begin, none waits.
  WaitingStmts(LoopProgram& program, rewrite::Rewriter& rewriter,
               LastUses& last_uses)
      : program_(program), rewriter_(rewriter), last_uses_(last_uses) {}

  // Takes all statements out of the body.
  void Begin();

  // Whether the body has a statement `at`, once those that wait are there.
  bool Has(size_t at);

  // How many come after the body.
  size_t size() const { return waiting_.size(); }

  // The first statement of the body is planned, and leaves it. There is no
  // savepoint.
  void Done();

  // Puts all statements back, in order.
  void End();

 private:
  LoopProgram& program_;
  rewrite::Rewriter& rewriter_;
  LastUses& last_uses_;
  std::vector<Stmt> waiting_;  // the next one last
  std::vector<Stmt> done_;
};

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_SCHEDULE_GPU_WAITING_STMTS_H_
