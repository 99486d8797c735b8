// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/dependence.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

struct Use {
  Access access;
  bool writes;
};

// What the body of a loop touches.
class Body {
 public:
  Body(const LoopProgram& program, const For& loop)
      : program_(program), loop_(loop) {
    WalkLoops(program.body,
              [&](const For& each) { extents_[each.iterator] = each.extent; });
    WalkLoops(loop.body,
              [&](const For& inner) { inner_.insert(inner.iterator); });
    WalkStmts(loop.body, [&](const Stmt& stmt) { Add(stmt); });
  }

  bool has_loops() const { return !inner_.empty(); }
  bool zeroes() const { return zeroes_; }
  // Whether a local that is declared outside is set.
  bool sets_outer_local() const {
    return absl::c_any_of(
        set_, [&](int32_t local) { return !declared_.contains(local); });
  }

  // Whether two iterations may touch one cell that one of them writes. With
  // `but_private`, cells of private buffers do not count.
  bool MayConflict(bool but_private) const {
    for (const Use& a : uses_) {
      if (!a.writes) continue;
      if (but_private &&
          program_.buffers[a.access.buffer].role == Role::kPrivate) {
        continue;
      }
      for (const Use& b : uses_) {
        if (a.access.buffer == b.access.buffer && MayMeet(a.access, b.access)) {
          return true;
        }
      }
    }
    return false;
  }

 private:
  void Add(const Stmt& stmt) {
    if (const auto* let = std::get_if<DeclareLocal>(&stmt)) {
      declared_.insert(let->local);
    }
    if (const auto* set = std::get_if<SetLocal>(&stmt)) set_.insert(set->local);
    if (std::holds_alternative<ZeroOut>(stmt)) zeroes_ = true;
    if (const auto* set = std::get_if<Set>(&stmt)) {
      uses_.push_back({set->target, /*writes=*/true});
    }
    const ExprId* value = ValueOf(stmt);
    if (value == nullptr) return;
    WalkLeaves(program_, *value, [&](const LeafValue& leaf) {
      if (const auto* access = std::get_if<Access>(&leaf)) {
        uses_.push_back({*access, /*writes=*/false});
      }
    });
  }

  // Whether two iterations may reach one cell through `a` and `b`. Cells are
  // the same where each axis is, and then the offsets are, too.
  bool MayMeet(const Access& a, const Access& b) const {
    Affine offset_a, offset_b;
    int64_t stride = 1;
    const Dims& dims = program_.buffers[a.buffer].dims;
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (!MayBeEqual(a.indices[axis], b.indices[axis])) return false;
      offset_a += stride * a.indices[axis];
      offset_b += stride * b.indices[axis];
      stride *= dims[axis];
    }
    return MayBeEqual(offset_a, offset_b);
  }

  // Whether a in one iteration may equal b in another.
  bool MayBeEqual(const Affine& a, const Affine& b) const {
    const Symbol own = Iterator(loop_.iterator);
    // a - b without the loop's iterator: what surrounds the loop is the same in
    // both, inner iterators are not.
    Range rest{a.offset() - b.offset(), a.offset() - b.offset()};
    Affine outer;
    auto add = [&](const Affine& index, int64_t sign) {
      for (const Affine::Term& term : index.terms()) {
        if (term.symbol == own) continue;
        if (IsInner(term.symbol)) {
          rest.Grow(sign * term.factor, ExtentOf(term.symbol));
        } else {
          outer += sign * term.factor * Affine(term.symbol);
        }
      }
    };
    add(a, 1);
    add(b, -1);
    for (const Affine::Term& term : outer.terms()) {
      rest.Grow(term.factor, ExtentOf(term.symbol));
    }
    const int64_t factor_a = a.FactorOf(own);
    const int64_t factor_b = b.FactorOf(own);
    const __int128 step = factor_a < 0 ? -factor_a : factor_a;
    if (factor_a == factor_b && rest.least > -step && rest.greatest < step) {
      return false;  // Another iteration is at least a step away.
    }
    rest.Grow(factor_a, loop_.extent);
    rest.Grow(-factor_b, loop_.extent);
    return rest.least <= 0 && rest.greatest >= 0;
  }

  struct Range {
    __int128 least;
    __int128 greatest;
    void Grow(int64_t factor, int64_t extent) {
      __int128 span = static_cast<__int128>(factor) * (extent - 1);
      (span < 0 ? least : greatest) += span;
    }
  };

  bool IsInner(Symbol symbol) const {
    return symbol.kind == Symbol::kIterator && inner_.contains(symbol.number);
  }

  int64_t ExtentOf(Symbol symbol) const {
    return symbol.kind == Symbol::kStatic
               ? program_.statics[symbol.number].range
               : extents_.at(symbol.number);
  }

  const LoopProgram& program_;
  const For& loop_;
  absl::flat_hash_map<int32_t, int64_t> extents_;  // of every loop
  absl::flat_hash_set<int32_t> inner_;             // loops of the body
  absl::flat_hash_set<int32_t> declared_;          // locals
  absl::flat_hash_set<int32_t> set_;
  std::vector<Use> uses_;
  bool zeroes_ = false;
};

}  // namespace

bool IsParallel(const LoopProgram& program, const For& loop) {
  Body body(program, loop);
  return !body.zeroes() && !body.sets_outer_local() &&
         !body.MayConflict(/*but_private=*/true);
}

bool CanRunAsLanes(const LoopProgram& program, const For& loop) {
  Body body(program, loop);
  return !body.has_loops() && !body.zeroes() && !body.sets_outer_local() &&
         !body.MayConflict(/*but_private=*/false);
}

}  // namespace ocannl
