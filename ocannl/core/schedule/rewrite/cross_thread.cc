// SPDX-License-Identifier: Apache-2.0
//
// CrossThread: a block of threads for what one thread would do, as a reduction
// in lanes: a cross-thread reduction (TVM's name of it).
//
//   for i0 { vec i1 { t[i1] := x[i0, i1]; } ... y[i0] := t[0]; }
//   ->
//   grid i0 { thread i1 { t[i1] := x[i0, i1]; } ...
//             thread i2 = 0 to 0 { y[i0] := t[0]; } }
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"
#include "ocannl/core/schedule/rewrite/savepoint.h"

namespace ocannl::rewrite {
namespace {

bool HasVec(const For& loop) {
  bool has = loop.kind == LoopKind::kVec;
  WalkLoops(loop.body, [&](const For& inner) {
    has = has || inner.kind == LoopKind::kVec;
  });
  return has;
}

class CrossThreadWriter {
 public:
  explicit CrossThreadWriter(LoopProgram& program) : program_(program) {}

  // `vec` loops become phases; so does what stands between them, in one thread.
  void Write(Block& block) {
    std::vector<Stmt> done;
    Block serial;
    for (Stmt& stmt : block.stmts) {
      For* loop = std::get_if<For>(&stmt);
      if (loop == nullptr || !HasVec(*loop)) {
        serial.stmts.push_back(std::move(stmt));
        continue;
      }
      Flush(serial, done);
      if (loop->kind == LoopKind::kVec) {
        loop->kind = LoopKind::kThread;
      } else {
        Write(loop->body);
      }
      done.push_back(std::move(stmt));
    }
    Flush(serial, done);
    block.stmts = std::move(done);
  }

 private:
  void Flush(Block& serial, std::vector<Stmt>& done) {
    if (serial.stmts.empty()) return;
    done.push_back(For{LoopKind::kThread, program_.FreshIterator(), 1,
                       std::exchange(serial, {})});
  }

  LoopProgram& program_;
};

// Error: why threads cannot be what `vec` loops are, or what is between them.
absl::Status CheckThreads(const LoopProgram& program, const Block& block) {
  for (const Stmt& stmt : block.stmts) {
    if (std::holds_alternative<DeclareLocal>(stmt) ||
        std::holds_alternative<SetLocal>(stmt)) {
      return UserError("a local between `vec` loops would be of one thread");
    }
    const For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr || !HasVec(*loop)) continue;
    if (loop->kind != LoopKind::kVec) {
      OCANNL_RETURN_IF_ERROR(CheckThreads(program, loop->body));
    } else {
      OCANNL_RETURN_IF_ERROR(
          CheckNone(WhyNotParallel(program, *loop), program,
                    absl::StrCat("iterations of ", Name(loop->iterator),
                                 " cannot be threads")));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CrossThread(LoopProgram& program, IteratorId loop) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  if (absl::c_any_of(site.around, [](const For* outer) {
        return OnlyLoopIn(*outer) == nullptr;
      })) {
    return UserError("there is more than ", Name(loop),
                     " in a loop around it, so that its iterations are no ",
                     "blocks");
  }
  // The loops around it are blocks too.
  std::vector<For*> blocks = site.around;
  blocks.push_back(&site.loop());
  if (!HasVec(site.loop())) {
    return UserError("there is no vec loop in ", Name(loop),
                     " whose iterations could be threads");
  }
  for (const For* block : blocks) {
    OCANNL_RETURN_IF_ERROR(
        CheckNone(WhyNotParallel(program, *block), program,
                  absl::StrCat("iterations of ", Name(block->iterator),
                               " cannot be blocks")));
  }
  Savepoint before(program);
  before.Save(site.nest);
  Block& body = site.loop().body;
  WalkStmts(body, [&](const Stmt& stmt) {
    const BufferId id = WrittenBy(program, stmt);
    if (id.valid() && program.buffers[id].role == Role::kPrivate) {
      program.buffers[id].role = Role::kShared;
    }
  });
  OCANNL_RETURN_IF_ERROR(before.RollBackUnlessOk(CheckThreads(program, body)));
  for (For* block : blocks) block->kind = LoopKind::kGrid;
  CrossThreadWriter(program).Write(body);
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite
