// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/waiting_stmts.h"

#include <utility>

#include "absl/algorithm/container.h"

namespace ocannl::gpu {

void WaitingStmts::Begin() {
  waiting_ = std::exchange(program_.body.stmts, {});
  absl::c_reverse(waiting_);
}

bool WaitingStmts::Has(size_t at) {
  while (at >= program_.body.stmts.size() && !waiting_.empty()) {
    rewriter_.Append(std::move(waiting_.back()));
    waiting_.pop_back();
  }
  return at < program_.body.stmts.size();
}

void WaitingStmts::Done() {
  std::vector<Stmt>& stmts = program_.body.stmts;
  last_uses_.Done(program_, stmts[0]);
  done_.push_back(std::move(stmts[0]));
  stmts.erase(stmts.begin());
}

void WaitingStmts::End() { program_.body.stmts = std::exchange(done_, {}); }

}  // namespace ocannl::gpu
