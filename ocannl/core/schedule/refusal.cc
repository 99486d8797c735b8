// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/refusal.h"

#include <atomic>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

std::atomic<bool>& Fatal() {
  static std::atomic<bool> fatal =
      std::getenv("TEST_FATAL_REFUSALS") != nullptr;
  return fatal;
}

}  // namespace

std::string WrittenNames(const LoopProgram& program, const Stmt& stmt) {
  return absl::StrJoin(EffectsOf(program, stmt).writes, ", ",
                       [&](std::string* text, BufferId id) {
                         absl::StrAppend(text, program.buffers[id].name);
                       });
}

Refusal RefusalOf(const LoopProgram& program, const Stmt& nest,
                  std::string pass, std::string reason) {
  return {.nest = WrittenNames(program, nest),
          .pass = std::move(pass),
          .reason = std::move(reason)};
}

std::string Text(const Refusal& refusal) {
  return absl::StrCat(refusal.nest.empty() ? "every nest" : "nest of ",
                      refusal.nest, " keeps the loops from before ",
                      refusal.pass, ": ",
                      absl::StrReplaceAll(refusal.reason, {{"\n ", ""}}));
}

void AddComments(const std::vector<Refusal>& refused, LoopProgram& program) {
  std::vector<Stmt> comments;
  for (const Refusal& refusal : refused) {
    comments.push_back(Comment{Text(refusal)});
  }
  std::vector<Stmt>& stmts = program.body.stmts;
  stmts.insert(stmts.begin(), comments.begin(), comments.end());
}

void Report(Refusal refusal, std::vector<Refusal>* to) {
  CHECK(to != nullptr) << Text(refusal);
  to->push_back(std::move(refusal));
}

bool AreRefusalsFatal() { return Fatal(); }
void MakeRefusalsFatal() { Fatal() = true; }

}  // namespace ocannl
