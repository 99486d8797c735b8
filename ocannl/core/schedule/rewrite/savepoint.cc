// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/rewrite/savepoint.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "ocannl/core/analysis/nest.h"

namespace ocannl::rewrite {

Savepoint::Savepoint(LoopProgram& program)
    : program_(program),
      num_buffers_(program.buffers.size()),
      num_locals_(program.locals.size()),
      next_iterator_(program.next_iterator) {}

void Savepoint::Save(size_t at) {
  const std::vector<Stmt>& stmts = program_.body.stmts;
  if (!std::exchange(is_saved_, true)) {
    before_ = at;
    behind_ = stmts.size() - at;
  }
  while (at < before_) {
    stmts_.insert(stmts_.begin(), stmts[--before_]);
    SaveBuffersOf(stmts_.front());
  }
  while (at + behind_ >= stmts.size()) {
    stmts_.push_back(stmts[stmts.size() - behind_--]);
    SaveBuffersOf(stmts_.back());
  }
}

void Savepoint::Appended(size_t count) {
  if (is_saved_) behind_ += count;
}

void Savepoint::SaveAll() {
  if (program_.body.stmts.empty()) return;
  Save(0);
  Save(program_.body.stmts.size() - 1);
}

void Savepoint::SaveBuffersOf(const Stmt& stmt) {
  for (BufferId id : EffectsOf(program_, stmt).buffers()) {
    if (static_cast<size_t>(id.index) < num_buffers_) {
      buffers_.try_emplace(id, program_.buffers[id]);
    }
  }
}

void Savepoint::RollBack() {
  std::vector<Stmt>& stmts = program_.body.stmts;
  const auto first = stmts.begin() + static_cast<int64_t>(before_);
  const auto last = stmts.end() - static_cast<int64_t>(behind_);
  if (is_saved_) {
    stmts.insert(stmts.erase(first, last), stmts_.begin(), stmts_.end());
  }
  for (const auto& [id, buffer] : buffers_) program_.buffers[id] = buffer;
  auto& buffers = program_.buffers;
  buffers.erase(buffers.begin() + num_buffers_, buffers.end());
  auto& locals = program_.locals;
  locals.erase(locals.begin() + num_locals_, locals.end());
  program_.next_iterator = next_iterator_;
}

absl::Status Savepoint::RollBackUnlessOk(absl::Status status) {
  if (!status.ok()) RollBack();
  return status;
}

}  // namespace ocannl::rewrite
