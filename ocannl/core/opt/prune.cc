// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/opt/prune.h"

#include <utility>
#include <variant>
#include <vector>

#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/renumber.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

// What something other than its own accumulation reads.
struct Used {
  std::vector<bool> buffers;
  std::vector<bool> locals;
};

Used FindUsed(const LoopProgram& program) {
  Used used{.buffers = std::vector<bool>(program.buffers.size()),
            .locals = std::vector<bool>(program.locals.size())};
  for (size_t k = 0; k < program.buffers.size(); ++k) {
    used.buffers[k] = !IsScratch(program.buffers[k].role);
  }
  WalkStmts(program.body, [&](const Stmt& stmt) {
    const SetLocal* set_local = std::get_if<SetLocal>(&stmt);
    WalkReads(program, stmt, [&](const Access& access) {
      bool own = WrittenBy(program, stmt) == access.buffer;
      if (!own) used.buffers[access.buffer] = true;
    });
    WalkLeaves(program, stmt, [&](const LeafValue& leaf) {
      if (const GetLocal* get = std::get_if<GetLocal>(&leaf)) {
        bool own = set_local != nullptr && set_local->local == get->local;
        if (!own) used.locals[get->local] = true;
      }
    });
  });
  return used;
}

// Drops what `used` does not need; returns whether anything went.
bool Drop(const LoopProgram& program, const Used& used, Block& block) {
  bool dropped = false;
  std::vector<Stmt> kept;
  for (Stmt& stmt : block.stmts) {
    auto writes_used = [&](const auto&) {
      return used.buffers[WrittenBy(program, stmt)] == true;
    };
    bool keep = std::visit(
        Overload{
            [&](For& loop) {
              dropped |= Drop(program, used, loop.body);
              return !loop.body.stmts.empty();
            },
            [&](Set& set) { return writes_used(set); },
            [&](Scatter& scatter) { return writes_used(scatter); },
            [&](ZeroOut& zero) { return writes_used(zero); },
            [&](DeclareLocal& let) { return used.locals[let.local] == true; },
            [&](SetLocal& set) { return used.locals[set.local] == true; },
            [](Comment&) { return true; },
        },
        static_cast<Stmt::variant&>(stmt));
    dropped |= !keep;
    if (keep) kept.push_back(std::move(stmt));
  }
  block.stmts = std::move(kept);
  return dropped;
}

// Numbers what is still mentioned anew.
LoopProgram Compact(const LoopProgram& program) {
  Used used = FindUsed(program);
  LoopProgram compact{.name = program.name,
                      .statics = program.statics,
                      .buffers = {},
                      .locals = {},
                      .exprs = {},
                      .leaves = {},
                      .body = {}};
  Renumbering numbers{.buffers = std::vector<int32_t>(program.buffers.size()),
                      .locals = std::vector<int32_t>(program.locals.size())};
  for (size_t k = 0; k < program.buffers.size(); ++k) {
    if (!used.buffers[k]) continue;
    numbers.buffers[k] = static_cast<int32_t>(compact.buffers.size());
    compact.buffers.push_back(program.buffers[k]);
  }
  for (size_t k = 0; k < program.locals.size(); ++k) {
    if (!used.locals[k]) continue;
    numbers.locals[k] = static_cast<int32_t>(compact.locals.size());
    compact.locals.push_back(program.locals[k]);
  }
  compact.body = Renumber(program, program.body, numbers, compact);
  return compact;
}

}  // namespace

LoopProgram Prune(LoopProgram program) {
  // Dropping one store may leave nothing that reads another.
  while (Drop(program, FindUsed(program), program.body)) {
  }
  return Compact(program);
}

}  // namespace ocannl
