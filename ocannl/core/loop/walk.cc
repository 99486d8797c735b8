// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/walk.h"

#include <algorithm>
#include <limits>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl {

void WalkStmts(const Block& block, absl::FunctionRef<void(const Stmt&)> visit) {
  for (const Stmt& stmt : block.stmts) {
    visit(stmt);
    if (const For* loop = std::get_if<For>(&stmt)) WalkStmts(loop->body, visit);
  }
}

void WalkLoops(const Block& block, absl::FunctionRef<void(const For&)> visit) {
  WalkStmts(block, [&](const Stmt& stmt) {
    if (const For* loop = std::get_if<For>(&stmt)) visit(*loop);
  });
}

int32_t NextIterator(const LoopProgram& program) {
  int32_t next = 0;
  WalkLoops(program.body,
            [&](const For& loop) { next = std::max(next, loop.iterator + 1); });
  for (const StaticIndex& index : program.statics) {
    int32_t number;
    if (absl::StartsWith(index.name, "i") &&
        absl::SimpleAtoi(absl::string_view(index.name).substr(1), &number) &&
        number < std::numeric_limits<int32_t>::max()) {
      next = std::max(next, number + 1);
    }
  }
  return next;
}

const ExprId* ValueOf(const Stmt& stmt) {
  return std::visit(
      Overload{
          [](const Set& set) -> const ExprId* { return &set.value; },
          [](const DeclareLocal& let) -> const ExprId* { return &let.value; },
          [](const SetLocal& set) -> const ExprId* { return &set.value; },
          [](const For&) -> const ExprId* { return nullptr; },
          [](const ZeroOut&) -> const ExprId* { return nullptr; },
          [](const Comment&) -> const ExprId* { return nullptr; },
      },
      static_cast<const Stmt::variant&>(stmt));
}

ExprId* ValueOf(Stmt& stmt) {
  return const_cast<ExprId*>(ValueOf(static_cast<const Stmt&>(stmt)));
}

void WalkLeaves(const LoopProgram& program, ExprId value,
                absl::FunctionRef<void(const LeafValue&)> visit) {
  absl::flat_hash_set<ExprId> seen = {value};
  std::vector<ExprId> stack = {value};
  while (!stack.empty()) {
    const ExprNode& node = program.exprs[stack.back()];
    stack.pop_back();
    if (const Leaf* leaf = std::get_if<Leaf>(&node)) {
      visit(program.At(*leaf));
    } else if (const Apply* apply = std::get_if<Apply>(&node)) {
      for (ExprId arg : apply->args) {
        if (seen.insert(arg).second) stack.push_back(arg);
      }
    }
  }
}

void RewriteStmts(Block& block, absl::FunctionRef<void(Stmt&)> rewrite) {
  for (Stmt& stmt : block.stmts) {
    rewrite(stmt);
    if (For* loop = std::get_if<For>(&stmt)) RewriteStmts(loop->body, rewrite);
  }
}

void RewriteValues(Block& block, absl::FunctionRef<ExprId(ExprId)> rewrite) {
  RewriteStmts(block, [&](Stmt& stmt) {
    if (ExprId* value = ValueOf(stmt)) *value = rewrite(*value);
  });
}

LeafValue SubstituteIndices(LeafValue leaf,
                            absl::FunctionRef<Affine(Symbol)> value) {
  if (Access* access = std::get_if<Access>(&leaf)) {
    for (Affine& index : access->indices) index = index.Substitute(value);
  } else if (Affine* index = std::get_if<Affine>(&leaf)) {
    *index = index->Substitute(value);
  }
  return leaf;
}

ExprId RewriteLeaves(LoopProgram& program, ExprId value,
                     absl::FunctionRef<ExprId(const LeafValue&)> leaf) {
  return Rewrite(program.exprs, value, [&](ExprId id) {
    const Leaf* node = std::get_if<Leaf>(&program.exprs[id]);
    return node == nullptr ? id : leaf(program.At(*node));
  });
}

}  // namespace ocannl
