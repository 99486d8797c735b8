// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/opt/common_subexpressions.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/depth.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl {
namespace {

class SubexpressionBinder {
 public:
  explicit SubexpressionBinder(LoopProgram& program) : program_(program) {}

  void Visit(Block& block) {
    std::vector<Stmt> stmts;
    stmts.reserve(block.stmts.size());
    for (Stmt& stmt : block.stmts) {
      if (For* loop = std::get_if<For>(&stmt)) Visit(loop->body);
      if (ExprId* value = ValueOf(stmt)) *value = Bind(*value, stmts);
      stmts.push_back(std::move(stmt));
    }
    block.stmts = std::move(stmts);
  }

 private:
  // Counts the uses of each node of `root`. Whether an operation has several.
  bool CountUses(ExprId root, NodeMap<int>& uses) const {
    bool shares = false;
    uses[root] = 1;
    absl::InlinedVector<ExprId, 32> stack = {root};
    while (!stack.empty()) {
      const Apply* apply = std::get_if<Apply>(&program_.exprs[stack.back()]);
      stack.pop_back();
      if (apply == nullptr) continue;
      for (ExprId arg : apply->args) {
        if (uses[arg]++ == 0) {
          stack.push_back(arg);
        } else if (std::holds_alternative<Apply>(program_.exprs[arg])) {
          shares = true;
        }
      }
    }
    return shares;
  }

  // `root` with each operation of several uses replaced by a local, whose
  // declaration is appended to `stmts`.
  ExprId Bind(ExprId root, std::vector<Stmt>& stmts) {
    if (std::holds_alternative<Leaf>(program_.exprs[root])) return root;
    NodeMap<int> uses;
    if (!CountUses(root, uses)) return root;
    absl::flat_hash_map<ExprId, ExprId> bound;
    return BindNode(root, uses, bound, stmts);
  }

  // Operands left to right, so that declarations come in the order of text.
  ExprId BindNode(ExprId id, const NodeMap<int>& uses,
                  absl::flat_hash_map<ExprId, ExprId>& bound,
                  std::vector<Stmt>& stmts) {
    auto known = bound.find(id);
    if (known != bound.end()) return known->second;
    const Apply* apply = std::get_if<Apply>(&program_.exprs[id]);
    if (apply == nullptr) return id;
    Apply copy = *apply;
    for (ExprId& arg : copy.args) arg = BindNode(arg, uses, bound, stmts);
    DType dtype = copy.dtype;
    ExprId result = program_.exprs.Add(std::move(copy));
    if (uses.at(id) > 1) {
      const LocalId local =
          program_.locals.Add({.name = FreshName(), .dtype = dtype});
      stmts.push_back(DeclareLocal{local, result});
      result = program_.Read(GetLocal{local}).id();
    }
    bound[id] = result;
    return result;
  }

  std::string FreshName() {
    if (names_.empty()) TakeNames();
    std::string name;
    do {
      name = absl::StrCat("v", next_++);
    } while (!names_.insert(name).second);
    return name;
  }

  void TakeNames() {
    for (const Local& local : program_.locals) names_.insert(local.name);
    for (const Buffer& buffer : program_.buffers) names_.insert(buffer.name);
    for (const StaticIndex& index : program_.statics) names_.insert(index.name);
  }

  LoopProgram& program_;
  absl::flat_hash_set<std::string> names_;  // none before the first fresh one
  int next_ = 0;
};

// The assignment that `block` consists of, with declarations; else null.
Set* OnlySet(Block& block) {
  Set* only = nullptr;
  for (Stmt& stmt : block.stmts) {
    if (std::holds_alternative<Comment>(stmt)) continue;
    if (only != nullptr) return nullptr;
    only = std::get_if<Set>(&stmt);
    if (only == nullptr && !std::holds_alternative<DeclareLocal>(stmt)) {
      return nullptr;
    }
  }
  return only;
}

class LocalInliner {
 public:
  explicit LocalInliner(LoopProgram& program) : program_(program) {}

  void Visit(Block& block) {
    for (Stmt& stmt : block.stmts) {
      if (For* loop = std::get_if<For>(&stmt)) Visit(loop->body);
    }
    Set* only = OnlySet(block);
    if (only == nullptr) return;
    absl::flat_hash_map<LocalId, ExprId> values;
    auto inlined = [&](ExprId value) {
      return RewriteLeaves(program_, value, [&](const LeafValue& leaf) {
        const GetLocal* get = std::get_if<GetLocal>(&leaf);
        auto it = get == nullptr ? values.end() : values.find(get->local);
        return it == values.end() ? program_.Read(leaf).id() : it->second;
      });
    };
    for (const Stmt& stmt : block.stmts) {
      const DeclareLocal* let = std::get_if<DeclareLocal>(&stmt);
      if (let != nullptr) values[let->local] = inlined(let->value);
    }
    const ExprId value = inlined(only->value);
    if (DepthOf(program_.exprs, value, depths_) > kMaxValueDepth) return;
    only->value = value;
    std::erase_if(block.stmts, [](const Stmt& stmt) {
      return std::holds_alternative<DeclareLocal>(stmt);
    });
  }

 private:
  LoopProgram& program_;
  NodeMap<int> depths_;
};

}  // namespace

LoopProgram InlineLocals(LoopProgram program) {
  LocalInliner(program).Visit(program.body);
  return program;
}

LoopProgram EliminateCommonSubexpressions(LoopProgram program) {
  SubexpressionBinder(program).Visit(program.body);
  return program;
}

}  // namespace ocannl
