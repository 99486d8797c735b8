// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/canonical_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

void DropComments(Block& block) {
  std::erase_if(block.stmts, [](const Stmt& stmt) {
    return std::holds_alternative<Comment>(stmt);
  });
  for (Stmt& stmt : block.stmts) {
    if (For* loop = std::get_if<For>(&stmt)) DropComments(loop->body);
  }
}

}  // namespace

std::string CanonicalText(LoopProgram program) {
  program.name = std::string("p");
  for (BufferId k : program.buffers.ids()) {
    program.buffers[k].name = absl::StrCat("b", k.index);
  }
  for (size_t k = 0; k < program.statics.size(); ++k) {
    program.statics[k].name = absl::StrCat("s", k);
  }
  DropComments(program.body);
  // Passes leave locals behind that nothing declares any more.
  int locals = 0;
  WalkStmts(program.body, [&](const Stmt& stmt) {
    if (const DeclareLocal* declare = std::get_if<DeclareLocal>(&stmt)) {
      program.locals[declare->local].name = absl::StrCat("v", locals++);
    }
  });
  return Print(program);
}

}  // namespace ocannl
