// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/rewrite/edit.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::rewrite {
namespace {

// Whether the loop is in the block; then `site` is where it is. The last loops
// first: behind those that a planner looks for, nests have not got theirs yet.
bool FindLoopIn(Block& block, IteratorId iterator, LoopSite& site) {
  for (size_t at = block.stmts.size(); at-- > 0;) {
    For* loop = std::get_if<For>(&block.stmts[at]);
    if (loop == nullptr) continue;
    if (loop->iterator == iterator) {
      site.block = &block;
      site.at = site.nest = at;
      return true;
    }
    site.around.push_back(loop);
    if (FindLoopIn(loop->body, iterator, site)) {
      site.nest = at;
      return true;
    }
    site.around.pop_back();
  }
  return false;
}

// Things of their own for the copy of a block.
class Copier {
 public:
  Copier(LoopProgram& program, bool copies_privates)
      : program_(program), copies_privates_(copies_privates) {}

  // Gets the statements in order.
  void Visit(Stmt& stmt) {
    RewriteLeaves(program_, stmt, [&](LeafValue leaf) {
      if (auto* access = std::get_if<Access>(&leaf)) Visit(*access);
      if (auto* lookup = std::get_if<Lookup>(&leaf)) {
        Visit(lookup->cell);
        Visit(lookup->index.Mutable());
      }
      if (auto* get = std::get_if<GetLocal>(&leaf)) Visit(get->local);
      if (auto* index = std::get_if<Affine>(&leaf)) Visit(*index);
      return leaf;
    });
    if (For* loop = std::get_if<For>(&stmt)) {
      const IteratorId own = program_.FreshIterator();
      iterators_[loop->iterator] = own;
      loop->iterator = own;
    } else if (auto* let = std::get_if<DeclareLocal>(&stmt)) {
      Local copy = program_.locals[let->local];
      copy.name = program_.UnusedName(copy.name);
      locals_[let->local] = program_.locals.Add(std::move(copy));
      Visit(let->local);
    } else if (auto* assigned = std::get_if<SetLocal>(&stmt)) {
      Visit(assigned->local);
    } else if (auto* zero = std::get_if<ZeroOut>(&stmt)) {
      zero->buffer = Own(zero->buffer);
    }
  }

 private:
  void Visit(LocalId& local) {
    auto own = locals_.find(local);
    if (own != locals_.end()) local = own->second;
  }

  void Visit(Affine& index) {
    index = index.Substitute([&](Symbol symbol) -> Affine {
      auto own = symbol.kind == Symbol::kIterator
                     ? iterators_.find(symbol.iterator())
                     : iterators_.end();
      return own == iterators_.end() ? symbol : Iterator(own->second);
    });
  }

  void Visit(Access& access) {
    access.buffer = Own(access.buffer);
    for (Affine& index : access.indices) Visit(index);
  }

  BufferId Own(BufferId buffer) {
    if (!copies_privates_ || program_.buffers[buffer].role != Role::kPrivate) {
      return buffer;
    }
    auto [own, is_new] =
        buffers_.try_emplace(buffer, program_.buffers.next_id());
    if (is_new) {
      Buffer copy = program_.buffers[buffer];
      copy.name = program_.UnusedName(copy.name);
      program_.buffers.push_back(std::move(copy));
    }
    return own->second;
  }

  LoopProgram& program_;
  const bool copies_privates_;
  absl::flat_hash_map<IteratorId, IteratorId> iterators_;
  absl::flat_hash_map<LocalId, LocalId> locals_;
  absl::flat_hash_map<BufferId, BufferId> buffers_;
};

}  // namespace

absl::StatusOr<LoopSite> FindLoop(LoopProgram& program, IteratorId iterator) {
  LoopSite site;
  if (FindLoopIn(program.body, iterator, site)) return site;
  std::vector<std::string> names;
  WalkLoops(program.body,
            [&](const For& loop) { names.push_back(Name(loop.iterator)); });
  return UserError("no loop goes over ", Name(iterator), "; there are ",
                   names.empty() ? "none" : absl::StrJoin(names, ", "));
}

std::vector<Stmt> LoopRegion::Take() const {
  std::vector<Stmt> stmts;
  for (size_t k = first; k <= last; ++k) {
    stmts.push_back(std::move(block->stmts[k]));
  }
  return stmts;
}

void LoopRegion::Replace(std::vector<Stmt> stmts) const {
  const auto begin = block->stmts.begin();
  const auto at =
      block->stmts.erase(begin + static_cast<std::ptrdiff_t>(first),
                         begin + static_cast<std::ptrdiff_t>(last) + 1);
  block->stmts.insert(at, std::make_move_iterator(stmts.begin()),
                      std::make_move_iterator(stmts.end()));
}

absl::StatusOr<LoopRegion> FindRegion(LoopProgram& program, IteratorId first,
                                      IteratorId last) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite a, FindLoop(program, first));
  OCANNL_ASSIGN_OR_RETURN(const LoopSite b, FindLoop(program, last));
  if (a.block == b.block && a.at <= b.at) {
    return LoopRegion{a.block, a.at, b.at, a.in_body()};
  }
  return UserError("the loop over ", Name(last), " does not come after ",
                   Name(first), " in the same block");
}

absl::StatusOr<BufferId> FindBuffer(LoopProgram& program,
                                    absl::string_view name) {
  const BufferId id = program.FindBuffer(name);
  if (id.valid()) return id;
  return UserError("there is no buffer `", name, "`; there are ",
                   absl::StrJoin(program.buffers, ", ",
                                 [](std::string* text, const Buffer& buffer) {
                                   absl::StrAppend(text, buffer.name);
                                 }));
}

void Substitute(LoopProgram& program, Block& block,
                absl::FunctionRef<Affine(Symbol)> value) {
  RewriteStmts(block, [&](Stmt& stmt) {
    RewriteLeaves(program, stmt, [&](LeafValue leaf) {
      return SubstituteIndices(std::move(leaf), value);
    });
  });
}

void Substitute(LoopProgram& program, Block& block, IteratorId iterator,
                const Affine& value) {
  Substitute(program, block, [&](Symbol symbol) -> Affine {
    return symbol == Iterator(iterator) ? value : symbol;
  });
}

void Substitute(LoopProgram& program, Stmt& stmt, const IteratorMap& values) {
  RewriteLeaves(program, stmt, [&](LeafValue leaf) {
    return SubstituteIndices(std::move(leaf), [&](Symbol symbol) -> Affine {
      if (symbol.kind == Symbol::kStatic) return symbol;
      auto value = values.find(symbol.iterator());
      return value == values.end() ? Affine(symbol) : value->second;
    });
  });
}

BufferId AddBuffer(LoopProgram& program, const std::string& name, DType dtype,
                   Dims dims, Role role) {
  return program.buffers.Add({.name = program.UnusedName(name),
                              .dtype = dtype,
                              .role = role,
                              .dims = std::move(dims)});
}

Block Copy(LoopProgram& program, Block block, bool copies_privates) {
  Copier copier(program, copies_privates);
  RewriteStmts(block, [&](Stmt& stmt) { copier.Visit(stmt); });
  return block;
}

size_t FirstConflict(const LoopProgram& program, absl::Span<const Stmt> stmts,
                     size_t first, size_t last, const Stmt& stmt) {
  if (first == last) return last;
  const Effects effects = EffectsOf(program, stmt);
  while (first < last && !Conflict(EffectsOf(program, stmts[first]), effects)) {
    ++first;
  }
  return first;
}

size_t FirstCommentOf(absl::Span<const Stmt> stmts, size_t at) {
  while (at > 0 && std::holds_alternative<Comment>(stmts[at - 1])) --at;
  return at;
}

int LoopDepthOf(const Block& block) {
  int deepest = 0;
  for (const Stmt& stmt : block.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop != nullptr) {
      deepest = std::max(deepest, 1 + LoopDepthOf(loop->body));
    }
  }
  return deepest;
}

}  // namespace ocannl::rewrite
