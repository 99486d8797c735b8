// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/select/unroll.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/random.h"
#include "ocannl/core/ops/rows.h"
#include "ocannl/jit/vcode/operands.h"

namespace ocannl::jit {
namespace {

// Beyond this nothing is unrolled: the time to compile would grow with it,
// which `bazel run //experiments:bench -- --filter=compile/` measures.
constexpr int64_t kMaxStatements = 8192;

bool IsWide(Op op, DType dtype) {
  // Quotients of integers are computed as doubles.
  bool quotient = op == Op::kDiv || op == Op::kRem;
  return SizeOf(dtype) == 8 || (quotient && IsInteger(dtype));
}

bool IsExpandedWide(Op row) {
  const OpInfo& info = Info(row);
  if (info.primitive || IsDraw(row)) return false;
  ExprPool pool;
  const bool is_float = Accepts(info.typing, DType::kF32);
  const DType dtype = is_float ? DType::kF32 : DType::kU32;
  std::vector<Expr> args;
  for (int k = 0; k < info.arity; ++k) args.push_back(MakeLeaf(pool, dtype, k));
  bool is_wide = false;
  Rewrite(pool, Expand(pool, ApplyOp(row, args, dtype).id()), [&](ExprId id) {
    const Apply* apply = std::get_if<Apply>(&pool[id]);
    is_wide |= apply != nullptr && IsWide(apply->op, apply->dtype);
    return id;
  });
  return is_wide;
}

// Whether the row of ops.def of a derived op on 32 bits computes with 64.
bool DerivedIsWide(Op op) {
  // Most programs have few of them, and a process compiles its first one soon.
  thread_local std::array<std::optional<bool>, kNumOps> known;
  std::optional<bool>& is_wide = known[static_cast<size_t>(op)];
  if (!is_wide) is_wide = IsExpandedWide(op);
  return *is_wide;
}

// Whether each lane of the loop has its own index of 64 bits.
bool HasWideRows(const LoopProgram& program, const For& loop,
                 const Lookup& lookup) {
  return SizeOf(program.buffers[lookup.index->buffer].dtype) == 8 &&
         ByteOffset(program, *lookup.index).FactorOf(Iterator(loop.iterator));
}

// Whether some number of the expression takes 64 bits a lane of the loop.
// Indices that 32 bits can hold do so unless they are converted at once.
bool NeedsWideLanes(const LoopProgram& program, const ExtentOf& extents,
                    const For& loop, ExprId root) {
  if (SizeOf(TypeOf(program.exprs, root)) == 8) return true;
  absl::flat_hash_set<ExprId> seen = {root};
  std::vector<ExprId> stack = {root};
  while (!stack.empty()) {
    const ExprNode& node = program.exprs[stack.back()];
    stack.pop_back();
    bool wide = std::visit(
        Overload{
            [&](const Constant& c) { return SizeOf(c.dtype) == 8; },
            [&](const Leaf& leaf) {
              const auto* index = std::get_if<Affine>(&program.At(leaf));
              const auto* lookup = std::get_if<Lookup>(&program.At(leaf));
              if (lookup != nullptr && HasWideRows(program, loop, *lookup)) {
                return true;
              }
              if (index == nullptr) return SizeOf(leaf.dtype) == 8;
              return !FitsI32(program, extents, *index);
            },
            [&](const Apply& apply) {
              bool has_wide = false;
              for (ExprId arg : apply.args) {
                if (seen.insert(arg).second) stack.push_back(arg);
                has_wide |= apply.op != Op::kConvert &&
                            SizeOf(TypeOf(program.exprs, arg)) == 8;
              }
              return has_wide || IsWide(apply.op, apply.dtype) ||
                     DerivedIsWide(apply.op);
            },
        },
        node);
    if (wide) return true;
  }
  return false;
}

// Whether the stride between lanes of the loop is too large for an instruction:
// the last of 16, behind the greatest displacement, must fit 32 bits.
bool StridesFar(const LoopProgram& program, const For& loop) {
  bool far = false;
  auto check = [&](const Affine& place) {
    far |= std::abs(place.FactorOf(Iterator(loop.iterator))) >= kMaxDisp / 16;
  };
  WalkStmts(loop.body, [&](const Stmt& stmt) {
    const Set* set = std::get_if<Set>(&stmt);
    if (set != nullptr) check(ByteOffset(program, set->target));
    WalkReads(program, stmt, [&](const Access& access) {
      check(ByteOffset(program, access));
    });
    WalkLeaves(program, stmt, [&](const LeafValue& leaf) {
      const Affine* index = std::get_if<Affine>(&leaf);
      if (index != nullptr) check(*index);
    });
  });
  return far;
}

// Whether the loop, of several iterations, is a reduction by minimum or maximum
// of scalars or vectors: one test finds a NaN in two terms (PairExtremes).
bool AccumulatesExtreme(const LoopProgram& program, const For& loop) {
  const Stmt* at = nullptr;
  for (const For* around = &loop; around != nullptr;
       around = std::get_if<For>(at)) {
    if (around->body.stmts.size() != 1) return false;
    at = &around->body.stmts[0];
    if (around != &loop && around->kind != LoopKind::kVec) return false;
  }
  const Set* set = std::get_if<Set>(at);
  if (loop.kind != LoopKind::kFor || set == nullptr) return false;
  const auto* apply = std::get_if<Apply>(&program.exprs[set->value]);
  if (apply == nullptr || !KeepsNan(apply->op)) return false;
  const auto* leaf = std::get_if<Leaf>(&program.exprs[apply->args[0]]);
  return leaf != nullptr && program.At(*leaf) == LeafValue(set->target) &&
         ByteOffset(program, set->target).FactorOf(Iterator(loop.iterator)) ==
             0;
}

int64_t CountStatements(const Block& block) {
  int64_t count = 0;
  for (const Stmt& stmt : block.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr) {
      ++count;
      continue;
    }
    int64_t times = loop->kind == LoopKind::kUnroll ? loop->extent
                    : loop->kind == LoopKind::kVec  ? (loop->extent + 7) / 8
                                                    : 1;
    count += times * CountStatements(loop->body);
    count = std::min(count, kMaxStatements + 1);
  }
  return count;
}

}  // namespace

Unroller::Unroller(const LoopProgram& program, Isa isa)
    : program_(program), isa_(isa) {}

int Unroller::LanesOf(const For& loop) {
  auto [known, inserted] = lanes_of_.try_emplace(loop.iterator, 0);
  if (!inserted) return known->second;
  if (StridesFar(program_, loop)) return 0;
  int most = VectorBytes(isa_) / 4;
  WalkStmts(loop.body, [&](const Stmt& stmt) {
    const ExprId* value = ValueOf(stmt);
    const Scatter* scatter = std::get_if<Scatter>(&stmt);
    if ((value != nullptr &&
         NeedsWideLanes(program_, extents_, loop, *value)) ||
        (scatter != nullptr &&
         HasWideRows(program_, loop, program_.TargetOf(*scatter)))) {
      most = VectorBytes(isa_) / 8;
    }
  });
  auto extent = static_cast<uint64_t>(std::min<int64_t>(loop.extent, most));
  known->second = std::max(4, static_cast<int>(std::bit_ceil(extent)));
  return known->second;
}

void Unroller::Walk(const Block& block, const UnrollHooks& hooks) {
  WalkLoops(block,
            [&](const For& loop) { extents_[loop.iterator] = loop.extent; });
  unrolls_ = CountStatements(block) <= kMaxStatements;
  Visit(block, hooks);
}

void Unroller::Visit(const Block& block, const UnrollHooks& hooks) {
  for (const Stmt& stmt : block.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    loop != nullptr ? VisitLoop(*loop, hooks) : hooks.statement(stmt);
  }
}

void Unroller::VisitLoop(const For& loop, const UnrollHooks& hooks) {
  bool unrolls =
      loop.extent == 1 || (loop.kind == LoopKind::kUnroll && unrolls_);
  if (unrolls) {
    fixed_.emplace_back(loop.iterator, Affine());
    for (int64_t i = 0; i < loop.extent; ++i) {
      fixed_.back().second = Affine(i);
      Visit(loop.body, hooks);
    }
    fixed_.pop_back();
    return;
  }
  if (loop.kind == LoopKind::kVec) {
    if (int lanes = LanesOf(loop)) return VisitLanes(loop, lanes, hooks);
  }
  if (unrolls_ && !Info(isa_).fixup && AccumulatesExtreme(program_, loop)) {
    return VisitUnrolledBy2(loop, hooks);
  }
  hooks.begin(loop);
  Visit(loop.body, hooks);
  hooks.end(loop);
}

void Unroller::VisitUnrolledBy2(const For& loop, const UnrollHooks& hooks) {
  auto visit = [&](const Affine& at) {
    fixed_.emplace_back(loop.iterator, at);
    Visit(loop.body, hooks);
    fixed_.pop_back();
  };
  const For pairs{loop.kind, loop.iterator, loop.extent / 2, {}};
  if (pairs.extent > 1) hooks.begin(pairs);
  const Affine first =
      pairs.extent > 1 ? 2 * Affine(Iterator(loop.iterator)) : Affine(0);
  visit(first);
  visit(first + Affine(1));
  if (pairs.extent > 1) hooks.end(pairs);
  if (loop.extent % 2 != 0) visit(Affine(loop.extent - 1));
}

void Unroller::VisitLanes(const For& loop, int lanes,
                          const UnrollHooks& hooks) {
  lanes_.iterator = loop.iterator;
  lanes_.count = lanes;
  for (lanes_.first = 0; lanes_.first < loop.extent;
       lanes_.first += lanes_.count) {
    lanes_.active = static_cast<int>(
        std::min<int64_t>(lanes_.count, loop.extent - lanes_.first));
    Visit(loop.body, hooks);
  }
  lanes_ = {};
}

const Affine* Unroller::FixedValue(IteratorId iterator) const {
  for (const auto& [fixed, value] : fixed_) {
    if (fixed == iterator) return &value;
  }
  return nullptr;
}

Affine Unroller::Resolve(const Affine& index) const {
  Affine resolved;
  AddResolved(1, index, resolved);
  return resolved;
}

void Unroller::AddResolved(int64_t factor, const Affine& index,
                           Affine& sum) const {
  int64_t offset = index.offset();
  for (const auto& [symbol, times] : index.terms()) {
    if (symbol.kind == Symbol::kIterator) {
      if (symbol.iterator() == lanes_.iterator) {
        offset += times * lanes_.first;
      } else if (const Affine* value = FixedValue(symbol.iterator())) {
        sum.AddScaled(factor * times, *value);
        continue;
      }
    }
    sum.AddScaled(factor * times, symbol);
  }
  sum.AddOffset(factor * offset);
}

Affine Unroller::ByteOffsetOf(const Access& access) const {
  const auto size =
      static_cast<int64_t>(SizeOf(program_.buffers[access.buffer].dtype));
  Affine offset;
  WalkStrides(program_, access, [&](int64_t stride, const Affine& index) {
    AddResolved(size * stride, index, offset);
  });
  return offset;
}

bool FitsI32(const LoopProgram& program, const ExtentOf& extents,
             const Affine& index) {
  __int128 least = index.offset();
  __int128 greatest = least;
  for (const Affine::Term& term : index.terms()) {
    int64_t range = term.symbol.kind == Symbol::kStatic
                        ? program.statics[term.symbol.number].range
                        : extents.at(term.symbol.iterator());
    if (range == kUnranged) return false;
    __int128 span = static_cast<__int128>(term.factor) * (range - 1);
    (span < 0 ? least : greatest) += span;
  }
  return least >= std::numeric_limits<int32_t>::min() &&
         greatest <= std::numeric_limits<int32_t>::max();
}

}  // namespace ocannl::jit
