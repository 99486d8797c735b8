// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/waiting_stmts.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::gpu {

void WaitingStmts::Begin() {
  before_ = script_.program().next_iterator;
  waiting_ = script_.Take(script_.program().body.stmts.size());
  absl::c_reverse(waiting_);
  next_of_waiting_ = {NextIterator(script_.program())};
  for (const Stmt& stmt : waiting_) {
    next_of_waiting_.push_back(
        std::max(next_of_waiting_.back(), NextIterator(stmt)));
  }
}

bool WaitingStmts::Has(size_t at) {
  const std::vector<Stmt>& stmts = script_.program().body.stmts;
  while (at >= stmts.size() && !waiting_.empty()) {
    script_.Append({std::move(waiting_.back())});
    waiting_.pop_back();
    next_of_waiting_.pop_back();
  }
  if (!next_of_waiting_.empty()) {
    script_.set_next_iterator(std::max(next_of_done_, next_of_waiting_.back()));
  }
  return at < stmts.size();
}

void WaitingStmts::Done() {
  Stmt stmt = std::move(script_.Take(1)[0]);
  last_uses_.Done(script_.program(), stmt);
  next_of_done_ = std::max(next_of_done_, NextIterator(stmt));
  done_.push_back(std::move(stmt));
}

void WaitingStmts::End() {
  script_.Append(std::exchange(done_, {}));
  script_.set_next_iterator(before_);
  next_of_waiting_.clear();
}

}  // namespace ocannl::gpu
