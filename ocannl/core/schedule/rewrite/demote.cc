// SPDX-License-Identifier: Apache-2.0
//
// Demote: locals of the program's body become temps (LLVM's reg2mem): kernels
// and functions of their own that are made of its statements share memory, and
// no registers.
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl::rewrite {

absl::Status Demote(LoopProgram& program) {
  absl::flat_hash_map<LocalId, Access> cells;
  for (const Stmt& stmt : program.body.stmts) {
    const DeclareLocal* declared = std::get_if<DeclareLocal>(&stmt);
    if (declared == nullptr) continue;
    const auto& [name, dtype] = program.locals[declared->local];
    const BufferId cell = AddBuffer(program, name, dtype, {}, Role::kTemp);
    cells[declared->local] = {cell, {}};
  }
  if (cells.empty()) return absl::OkStatus();
  RewriteStmts(program.body, [&](Stmt& stmt) {
    RewriteLeaves(program, stmt, [&](LeafValue leaf) -> LeafValue {
      const GetLocal* get = std::get_if<GetLocal>(&leaf);
      if (get == nullptr || !cells.contains(get->local)) return leaf;
      return cells[get->local];
    });
    if (const auto* declared = std::get_if<DeclareLocal>(&stmt)) {
      if (!cells.contains(declared->local)) return;
      stmt = Set{cells[declared->local], declared->value};
    } else if (const auto* set = std::get_if<SetLocal>(&stmt)) {
      if (cells.contains(set->local)) {
        stmt = Set{cells[set->local], set->value};
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite
