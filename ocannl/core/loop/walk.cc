// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/walk.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl {

const For* OnlyLoopIn(const For& loop) {
  const std::vector<Stmt>& stmts = loop.body.stmts;
  return stmts.size() == 1 ? std::get_if<For>(&stmts[0]) : nullptr;
}

For* OnlyLoopIn(For& loop) {
  return const_cast<For*>(OnlyLoopIn(std::as_const(loop)));
}

std::vector<const For*> LoopChain(const For& outermost) {
  std::vector<const For*> loops;
  for (const For* loop = &outermost; loop != nullptr; loop = OnlyLoopIn(*loop))
    loops.push_back(loop);
  return loops;
}

std::vector<IteratorId> IteratorsOf(const std::vector<const For*>& loops) {
  std::vector<IteratorId> iterators;
  for (const For* loop : loops) iterators.push_back(loop->iterator);
  return iterators;
}

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

std::optional<IteratorId> IteratorNamed(absl::string_view name) {
  IteratorId iterator;
  if (!absl::StartsWith(name, "i") ||
      !absl::SimpleAtoi(name.substr(1), &iterator.index) || !iterator.valid() ||
      iterator.index > 1'000'000'000 || name != Name(iterator)) {
    return std::nullopt;
  }
  return iterator;
}

IteratorId NextIterator(const LoopProgram& program) {
  IteratorId last = {program.next_iterator.index - 1};
  WalkLoops(program.body,
            [&](const For& loop) { last = std::max(last, loop.iterator); });
  for (const StaticIndex& index : program.statics) {
    last = std::max(last, IteratorNamed(index.name).value_or(last));
  }
  return {last.index + 1};
}

void CountIterators(LoopProgram& program) {
  program.next_iterator = {0};
  program.next_iterator = NextIterator(program);
}

const ExprId* ValueOf(const Stmt& stmt) {
  return std::visit(
      Overload{
          [](const Set& set) -> const ExprId* { return &set.value; },
          [](const Scatter& set) -> const ExprId* { return &set.value; },
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

BufferId WrittenBy(const LoopProgram& program, const Stmt& stmt) {
  if (const Set* set = std::get_if<Set>(&stmt)) return set->target.buffer;
  if (const ZeroOut* zero = std::get_if<ZeroOut>(&stmt)) return zero->buffer;
  const Scatter* scatter = std::get_if<Scatter>(&stmt);
  if (scatter == nullptr) return {};
  return program.TargetOf(*scatter).cell.buffer;
}

void WalkLeaves(const LoopProgram& program, ExprId value,
                absl::FunctionRef<void(const LeafValue&)> visit) {
  WalkNodes(program.exprs, value, [&](const ExprNode& node) {
    if (const Leaf* leaf = std::get_if<Leaf>(&node)) visit(program.At(*leaf));
  });
}

void WalkLeaves(const LoopProgram& program, const Stmt& stmt,
                absl::FunctionRef<void(const LeafValue&)> visit) {
  const ExprId* value = ValueOf(stmt);
  if (value != nullptr) WalkLeaves(program, *value, visit);
  const Scatter* scatter = std::get_if<Scatter>(&stmt);
  if (scatter != nullptr) visit(program.leaves[scatter->target]);
}

static void WalkCells(const LeafValue& leaf,
                      absl::FunctionRef<void(const Access&)> visit) {
  if (const Access* access = std::get_if<Access>(&leaf)) visit(*access);
  if (const Lookup* lookup = std::get_if<Lookup>(&leaf)) {
    visit(*lookup->index);
    visit(lookup->cell);
  }
}

void WalkReads(const LoopProgram& program, ExprId value,
               absl::FunctionRef<void(const Access&)> visit) {
  WalkLeaves(program, value,
             [&](const LeafValue& leaf) { WalkCells(leaf, visit); });
}

void WalkReads(const LoopProgram& program, const Stmt& stmt,
               absl::FunctionRef<void(const Access&)> visit) {
  WalkLeaves(program, stmt,
             [&](const LeafValue& leaf) { WalkCells(leaf, visit); });
}

void WalkStrides(
    const LoopProgram& program, const Access& access,
    absl::FunctionRef<void(int64_t stride, const Affine& index)> visit) {
  const Dims& dims = program.buffers[access.buffer].dims;
  int64_t stride = 1;
  for (size_t axis = dims.size(); axis-- > 0; stride *= dims[axis]) {
    visit(stride, access.indices[axis]);
  }
}

Affine ByteOffset(const LoopProgram& program, const Access& access) {
  const auto size =
      static_cast<int64_t>(SizeOf(program.buffers[access.buffer].dtype));
  Affine offset;
  WalkStrides(program, access, [&](int64_t stride, const Affine& index) {
    offset.AddScaled(size * stride, index);
  });
  return offset;
}

int64_t LookupStride(const LoopProgram& program, const Lookup& lookup) {
  const Dims& dims = program.buffers[lookup.cell.buffer].dims;
  int64_t stride = 1;
  for (size_t axis = lookup.axis + 1; axis < dims.size(); ++axis) {
    stride *= dims[axis];
  }
  return stride;
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
  auto substitute = [&](Access& access) {
    for (Affine& index : access.indices) index = index.Substitute(value);
  };
  if (Access* access = std::get_if<Access>(&leaf)) {
    substitute(*access);
  } else if (Lookup* lookup = std::get_if<Lookup>(&leaf)) {
    substitute(lookup->cell);
    substitute(lookup->index.Mutable());
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

void RewriteLeaves(LoopProgram& program, Stmt& stmt,
                   absl::FunctionRef<LeafValue(LeafValue)> rewrite) {
  if (Set* set = std::get_if<Set>(&stmt)) {
    set->target = std::get<Access>(rewrite(set->target));
  } else if (Scatter* scatter = std::get_if<Scatter>(&stmt)) {
    scatter->target =
        program.leaves.Add(rewrite(program.leaves[scatter->target]));
  }
  if (ExprId* value = ValueOf(stmt)) {
    *value = Rewrite(program.exprs, *value, [&](ExprId id) {
      const Leaf* node = std::get_if<Leaf>(&program.exprs[id]);
      if (node == nullptr) return id;
      const LeafValue& leaf = program.At(*node);
      LeafValue rewritten = rewrite(leaf);
      return rewritten == leaf ? id : program.Read(std::move(rewritten)).id();
    });
  }
}

}  // namespace ocannl
