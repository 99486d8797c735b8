// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/outline.h"

#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/loop/renumber.h"

namespace ocannl {

Outlined Outline(const LoopProgram& program, const Block& block) {
  Outlined outlined{.program = {.name = program.name,
                                .statics = program.statics,
                                .buffers = {},
                                .locals = {},
                                .exprs = {},
                                .leaves = {},
                                .body = {}},
                    .buffers = {}};
  LoopProgram& own = outlined.program;
  absl::flat_hash_map<BufferId, BufferId> buffers;
  absl::flat_hash_map<LocalId, LocalId> locals;
  absl::flat_hash_map<IteratorId, IteratorId> iterators;
  auto buffer = [&](BufferId old) {
    auto [found, is_new] = buffers.try_emplace(old, own.buffers.next_id());
    if (is_new) {
      own.buffers.push_back(program.buffers[old]);
      outlined.buffers.push_back(old);
    }
    return found->second;
  };
  auto local = [&](LocalId old) {
    auto [found, is_new] = locals.try_emplace(old, own.locals.next_id());
    if (is_new) own.locals.push_back(program.locals[old]);
    return found->second;
  };
  auto iterator = [&](IteratorId old) {
    const IteratorId next{static_cast<int32_t>(iterators.size())};
    return iterators.try_emplace(old, next).first->second;
  };
  own.body =
      Renumber(program, block,
               {.buffer = buffer, .local = local, .iterator = iterator}, own);
  return outlined;
}

std::vector<Block> SplitNests(const Block& body) {
  std::vector<Block> nests;
  bool has_local = false;
  for (const Stmt& stmt : body.stmts) {
    if (std::holds_alternative<Comment>(stmt)) continue;
    if (!has_local) nests.emplace_back();
    nests.back().stmts.push_back(stmt);
    has_local = has_local || std::holds_alternative<DeclareLocal>(stmt);
  }
  return nests;
}

std::string NestName(size_t number) { return absl::StrCat("nest-", number); }

void NameNests(LoopProgram& program) {
  if (SplitNests(program.body).size() < 2) return;
  std::vector<Stmt> named;
  size_t number = 0;
  bool has_local = false;
  for (Stmt& stmt : program.body.stmts) {
    const bool starts = !has_local && !std::holds_alternative<Comment>(stmt);
    if (starts) {
      Comment name{NestName(number++)};
      const auto* last =
          named.empty() ? nullptr : std::get_if<Comment>(&named.back());
      if (last == nullptr || *last != name) named.push_back(std::move(name));
    }
    has_local = has_local || std::holds_alternative<DeclareLocal>(stmt);
    named.push_back(std::move(stmt));
  }
  program.body.stmts = std::move(named);
}

LoopProgram FrameOfNests(const LoopProgram& program) {
  LoopProgram frame = {.name = program.name,
                       .statics = program.statics,
                       .buffers = program.buffers,
                       .locals = program.locals,
                       .exprs = program.exprs,
                       .leaves = program.leaves,
                       .body = {}};
  for (Buffer& buffer : frame.buffers) {
    if (!IsInput(buffer.role) && !IsOfNest(buffer.role)) {
      buffer.role = Role::kInOut;
    }
  }
  return frame;
}

}  // namespace ocannl
