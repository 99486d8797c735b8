// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <utility>
#include <vector>

#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/schedule/rewrite/script.h"

namespace ocannl::rewrite {

ScriptRunner::Savepoint::Savepoint(ScriptRunner& runner)
    : runner_(runner),
      num_buffers_(runner.program_.buffers.size()),
      num_locals_(runner.program_.locals.size()),
      script_size_(runner.script_.size()),
      named_(runner.named_) {
  runner_.savepoints_.push_back(this);
}

ScriptRunner::Savepoint::~Savepoint() { std::erase(runner_.savepoints_, this); }

void ScriptRunner::Savepoint::Save(size_t at) {
  const std::vector<Stmt>& stmts = runner_.program_.body.stmts;
  if (stmts_.empty()) {
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

void ScriptRunner::Savepoint::SaveBuffersOf(const Stmt& stmt) {
  const LoopProgram& program = runner_.program_;
  const Effects effects = EffectsOf(program, stmt);
  for (const auto* buffers : {&effects.reads, &effects.writes}) {
    for (BufferId id : *buffers) {
      if (static_cast<size_t>(id.index) < num_buffers_) {
        buffers_.try_emplace(id, program.buffers[id]);
      }
    }
  }
}

void ScriptRunner::Savepoint::RollBack() {
  LoopProgram& program = runner_.program_;
  std::vector<Stmt>& stmts = program.body.stmts;
  const auto first = stmts.begin() + static_cast<int64_t>(before_);
  const auto last = stmts.end() - static_cast<int64_t>(behind_);
  if (!stmts_.empty()) {
    stmts.insert(stmts.erase(first, last), stmts_.begin(), stmts_.end());
  }
  for (const auto& [id, buffer] : buffers_) program.buffers[id] = buffer;
  program.buffers.erase(program.buffers.begin() + num_buffers_,
                        program.buffers.end());
  program.locals.erase(program.locals.begin() + num_locals_,
                       program.locals.end());
  runner_.script_.resize(script_size_);
  runner_.named_ = named_;
}

}  // namespace ocannl::rewrite
