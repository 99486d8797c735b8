// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/outline.h"

#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/loop/renumber.h"

namespace ocannl {
namespace {

bool IsComment(const Stmt& stmt) {
  return std::holds_alternative<Comment>(stmt);
}

// Where nests start in the body. All is one nest from the first local on.
std::vector<size_t> StartsOfNests(const Block& body) {
  std::vector<size_t> starts;
  for (size_t k = 0; k < body.stmts.size(); ++k) {
    if (IsComment(body.stmts[k])) continue;
    starts.push_back(k);
    if (std::holds_alternative<DeclareLocal>(body.stmts[k])) break;
  }
  return starts;
}

}  // namespace

Outlined Outline(const LoopProgram& program, const Block& block) {
  Outlined outlined;
  LoopProgram& own = outlined.program;
  own.name = program.name;
  own.statics = program.statics;
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
  const std::vector<size_t> starts = StartsOfNests(body);
  std::vector<Block> nests(starts.size());
  for (size_t k = 0; k < starts.size(); ++k) {
    const size_t end =
        k + 1 < starts.size() ? starts[k + 1] : body.stmts.size();
    for (size_t at = starts[k]; at < end; ++at) {
      if (!IsComment(body.stmts[at])) nests[k].stmts.push_back(body.stmts[at]);
    }
  }
  return nests;
}

std::string NestName(size_t number) { return absl::StrCat("nest-", number); }

void NameNests(LoopProgram& program) {
  const std::vector<size_t> starts = StartsOfNests(program.body);
  if (starts.size() < 2) return;
  std::vector<Stmt> named;
  size_t number = 0;
  for (size_t k = 0; k < program.body.stmts.size(); ++k) {
    if (number < starts.size() && starts[number] == k) {
      Comment name{NestName(number++)};
      const auto* last =
          named.empty() ? nullptr : std::get_if<Comment>(&named.back());
      if (last == nullptr || *last != name) named.push_back(std::move(name));
    }
    named.push_back(std::move(program.body.stmts[k]));
  }
  program.body.stmts = std::move(named);
}

LoopProgram FrameOfNests(const LoopProgram& program) {
  LoopProgram frame;
  frame.name = program.name;
  frame.statics = program.statics;
  frame.buffers = program.buffers;
  frame.locals = program.locals;
  frame.exprs = program.exprs;
  frame.leaves = program.leaves;
  for (Buffer& buffer : frame.buffers) {
    if (!IsInput(buffer.role) && !IsOfNest(buffer.role)) {
      buffer.role = Role::kInOut;
    }
  }
  return frame;
}

}  // namespace ocannl
