// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/programs/split.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/fuzz/programs/indices.h"

namespace ocannl::fuzz {
namespace {

constexpr int64_t kParts[] = {2, 3, 4, 5, 8, 16, 17};

class Splitter {
 public:
  Splitter(LoopProgram* program, Random* random, const Policies& policies)
      : program_(program), random_(random), policies_(policies) {
    CountIterators(*program);
  }

  void Split(Block& block, bool outermost) {
    std::vector<Stmt> stmts;
    for (Stmt& stmt : block.stmts) {
      For* loop = std::get_if<For>(&stmt);
      if (loop != nullptr) Split(loop->body, false);
      int64_t part = random_->Pick(kParts);
      if (loop == nullptr || loop->extent <= part || random_->OneIn(3) ||
          (outermost && UsesPrivate() && loop->extent % part != 0)) {
        stmts.push_back(std::move(stmt));
        continue;
      }
      For tail = *loop;
      stmts.push_back(InTwo(std::move(*loop), part));
      if (tail.extent % part == 0) continue;
      Rename(tail);
      Shift(tail, tail.extent / part * part);
      stmts.push_back(std::move(tail));
    }
    block.stmts = std::move(stmts);
  }

 private:
  For InTwo(For loop, int64_t part) {
    For outer = {loop.kind, program_->FreshIterator(), loop.extent / part, {}};
    bool innermost = loop.kind == LoopKind::kVec;
    if (innermost) outer.kind = LoopKind::kFor;
    For inner = {loop.kind, program_->FreshIterator(), part, {}};
    if (!innermost) inner.kind = DrawKind(*random_, policies_, part, false);
    inner.body = std::move(loop.body);
    Substitute(*program_, inner.body, [&](Symbol symbol) -> Affine {
      if (symbol != Iterator(loop.iterator)) return symbol;
      return part * Affine(Iterator(outer.iterator)) +
             Affine(Iterator(inner.iterator));
    });
    outer.body.stmts.push_back(std::move(inner));
    return outer;
  }

  // A private buffer is for one statement of the body alone.
  bool UsesPrivate() const {
    return absl::c_any_of(program_->buffers, [](const Buffer& buffer) {
      return buffer.role == Role::kPrivate;
    });
  }

  // The same iterations of the body, where the loop starts at 0.
  void Shift(For& loop, int64_t first) {
    Substitute(*program_, loop.body, [&](Symbol symbol) -> Affine {
      if (symbol != Iterator(loop.iterator)) return symbol;
      return Affine(symbol) + Affine(first);
    });
    loop.extent -= first;
  }

  // New numbers for the iterators and locals of the loop.
  void Rename(For& loop) {
    absl::flat_hash_map<IteratorId, IteratorId> iterators;
    absl::flat_hash_map<LocalId, LocalId> locals;
    iterators[loop.iterator] = program_->FreshIterator();
    RewriteStmts(loop.body, [&](Stmt& stmt) {
      if (const For* inner = std::get_if<For>(&stmt)) {
        iterators[inner->iterator] = program_->FreshIterator();
      } else if (const DeclareLocal* let = std::get_if<DeclareLocal>(&stmt)) {
        locals[let->local] =
            program_->locals.Add({absl::StrCat("v", program_->locals.size()),
                                  program_->locals[let->local].dtype});
      }
    });
    loop.iterator = iterators.at(loop.iterator);
    RewriteStmts(loop.body, [&](Stmt& stmt) {
      auto rename = [](const auto& names, auto& name) {
        auto found = names.find(name);
        if (found != names.end()) name = found->second;
      };
      if (For* inner = std::get_if<For>(&stmt)) {
        rename(iterators, inner->iterator);
      } else if (DeclareLocal* let = std::get_if<DeclareLocal>(&stmt)) {
        rename(locals, let->local);
      } else if (SetLocal* set = std::get_if<SetLocal>(&stmt)) {
        rename(locals, set->local);
      }
      RewriteLeaves(*program_, stmt, [&](LeafValue leaf) {
        GetLocal* get = std::get_if<GetLocal>(&leaf);
        if (get != nullptr) rename(locals, get->local);
        return leaf;
      });
    });
    Substitute(*program_, loop.body, [&](Symbol symbol) -> Affine {
      auto found = iterators.find(symbol.iterator());
      bool own = symbol.kind == Symbol::kIterator && found != iterators.end();
      return own ? Iterator(found->second) : symbol;
    });
  }

  LoopProgram* program_;
  Random* random_;
  const Policies& policies_;
};

}  // namespace

LoopProgram SplitLoops(LoopProgram program, Random& random,
                       const Policies& policies) {
  LoopProgram split = program;
  Splitter(&split, &random, policies).Split(split.body, true);
  return Verify(split).ok() ? split : program;
}

}  // namespace ocannl::fuzz
