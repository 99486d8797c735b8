// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/analysis/phases.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::gpu {
namespace {

std::vector<Access> AccessesOf(const LoopProgram& program, const Block& block,
                               BufferId buffer) {
  std::vector<Access> accesses;
  auto visit = [&](const Access& access) {
    if (access.buffer == buffer) accesses.push_back(access);
  };
  WalkStmts(block, [&](const Stmt& stmt) {
    WalkReads(program, stmt, visit);
    if (const Set* set = std::get_if<Set>(&stmt)) visit(set->target);
    const ZeroOut* zero = std::get_if<ZeroOut>(&stmt);
    if (zero != nullptr) visit({zero->buffer, {}});
  });
  return accesses;
}

bool StartsWithThreads(const Access& access, const LoopNest& threads) {
  if (access.indices.size() < threads.loops.size()) return false;
  for (size_t k = 0; k < threads.loops.size(); ++k) {
    const Affine iterator = Iterator(threads.loops[k]->iterator);
    if (!(access.indices[k] == iterator)) return false;
  }
  return true;
}

bool SameExtents(const LoopNest& a, const LoopNest& b) {
  return absl::c_equal(a.loops, b.loops, [](const For* x, const For* y) {
    return x->extent == y->extent;
  });
}

}  // namespace

LoopNest::LoopNest(const For& outermost) {
  for (const For* loop : LoopChain(outermost)) {
    if (loop->kind != outermost.kind) break;
    loops.push_back(loop);
    size *= loop->extent;
  }
}

void WalkPhases(const Block& block, absl::FunctionRef<void(const For&)> visit) {
  for (const Stmt& stmt : block.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr) continue;
    if (loop->kind == LoopKind::kThread) {
      visit(*loop);
    } else {
      WalkPhases(loop->body, visit);
    }
  }
}

absl::StatusOr<size_t> ThreadAxes(const LoopProgram& program, const Block& body,
                                  BufferId buffer) {
  std::vector<LoopNest> users;
  const Access* other = nullptr;  // one that does not start with the threads
  std::vector<Access> accesses;
  WalkPhases(body, [&](const For& phase) {
    const LoopNest threads(phase);
    for (Access& access : AccessesOf(program, threads.body(), buffer)) {
      if (users.empty() || users.back().loops != threads.loops) {
        users.push_back(threads);
      }
      if (StartsWithThreads(access, threads)) continue;
      accesses.push_back(std::move(access));
      other = &accesses.back();
    }
  });
  if (users.size() < 2 && other != nullptr) return 0;
  for (const LoopNest& user : users) {
    if (other == nullptr && SameExtents(user, users.front())) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the threads of several phases touch `",
        other == nullptr ? program.buffers[buffer].name
                         : PrintAccess(program, *other),
        "`, which is private; let its first indices be the threads, the same "
        "in each phase, or make it shared"));
  }
  return users.empty() ? 0 : users.front().loops.size();
}

int64_t SharedBytes(const Buffer& buffer) {
  constexpr int64_t kAlignment = 16;
  const auto bytes = static_cast<int64_t>(NumElements(buffer.dims)) *
                     static_cast<int64_t>(SizeOf(buffer.dtype));
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

int64_t SharedBytes(const LoopProgram& program, const Block& body) {
  int64_t all = 0;
  for (BufferId id : EffectsOf(program, body).writes) {
    const Buffer& buffer = program.buffers[id];
    if (buffer.role == Role::kShared) all += SharedBytes(buffer);
  }
  return all;
}

}  // namespace ocannl::gpu
