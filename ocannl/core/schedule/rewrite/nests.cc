// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/rewrite/nests.h"

#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::rewrite {

Nests::Nests(LoopProgram& program) : program_(program) {
  for (Stmt& stmt : program_.body.stmts) {
    nests_.emplace_back().stmts.push_back(std::move(stmt));
    AddLoops(nests_.size() - 1);
  }
  program_.body.stmts.clear();
}

void Nests::AddLoops(size_t nest) {
  WalkLoops(nests_[nest], [&](const For& loop) {
    is_unique_ &= nest_of_.emplace(loop.iterator, nest).first->second == nest;
  });
}

bool Nests::Focus(absl::Span<const IteratorId> loops) {
  if (loops.empty() || !is_unique_) return false;
  for (IteratorId loop : loops) {
    const auto nest = nest_of_.find(loop);
    if (nest == nest_of_.end()) return false;
    if (loop == loops[0]) focus_ = nest->second;
    if (nest->second != focus_) return false;
  }
  program_.body = std::move(nests_[focus_]);
  return true;
}

void Nests::Unfocus() {
  nests_[focus_] = std::exchange(program_.body, {});
  AddLoops(focus_);
}

void Nests::Join() {
  for (Block& nest : nests_) {
    absl::c_move(nest.stmts, std::back_inserter(program_.body.stmts));
  }
}

}  // namespace ocannl::rewrite
