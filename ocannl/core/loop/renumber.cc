// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/renumber.h"

#include <utility>
#include <variant>

#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

class Renumberer {
 public:
  Renumberer(const LoopProgram& from, const Renumbering& to_number,
             LoopProgram& to)
      : from_(from), number_(to_number), to_(to) {}

  void Visit(Stmt& stmt) {
    std::visit(
        Overload{
            [&](For& loop) { loop.iterator = number_.iterator(loop.iterator); },
            [&](Set& set) { Visit(set.target); },
            [&](Scatter& scatter) {
              Lookup target = from_.TargetOf(scatter);
              Visit(target);
              scatter.target = to_.leaves.Add(std::move(target));
            },
            [&](DeclareLocal& let) { Visit(let.local); },
            [&](SetLocal& set) { Visit(set.local); },
            [&](ZeroOut& zero) { zero.buffer = number_.buffer(zero.buffer); },
            [](Comment&) {}},
        static_cast<Stmt::variant&>(stmt));
    if (ExprId* value = ValueOf(stmt)) *value = Copied(*value);
  }

 private:
  void Visit(LocalId& local) { local = number_.local(local); }

  void Visit(Affine& index) {
    index = index.Substitute([&](Symbol symbol) {
      if (symbol.kind == Symbol::kIterator) {
        return Affine(Iterator(number_.iterator(symbol.iterator())));
      }
      symbol.number += number_.first_static;
      return Affine(symbol);
    });
  }

  void Visit(GetLocal& get) { Visit(get.local); }

  void Visit(Access& access) {
    access.buffer = number_.buffer(access.buffer);
    for (Affine& index : access.indices) Visit(index);
  }

  void Visit(Lookup& lookup) {
    Visit(lookup.cell);
    Visit(lookup.index.Mutable());
  }

  ExprId Copied(ExprId value) {
    auto renumbered = [&](const Leaf& leaf) {
      LeafValue copy = from_.At(leaf);
      std::visit([&](auto& of_leaf) { Visit(of_leaf); }, copy);
      return to_.Read(std::move(copy)).id();
    };
    return CopyExpr(from_.exprs, value, to_.exprs, copies_, renumbered);
  }

  const LoopProgram& from_;
  const Renumbering& number_;
  LoopProgram& to_;
  ExprMap copies_;
};

}  // namespace

Block Renumber(const LoopProgram& from, Block block,
               const Renumbering& renumbering, LoopProgram& to) {
  Renumberer renumberer(from, renumbering, to);
  RewriteStmts(block, [&](Stmt& stmt) { renumberer.Visit(stmt); });
  return block;
}

}  // namespace ocannl
