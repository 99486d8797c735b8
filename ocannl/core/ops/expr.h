// SPDX-License-Identifier: Apache-2.0
//
// Expr: scalar expressions, hash-consed in a pool: equal text, equal id.
//
//   ExprPool pool;
//   Expr x = MakeLeaf(pool, DType::kF32, 0);
//   Expr y = Max(0, x) + 1;      // any op of ops.def, by name or operator
//
// A leaf is a number that the owner of the pool gives a meaning: an operand of
// an assignment, an access to a buffer, a variable of a rewrite rule.
// Interned means same text, not same value: whether two equal reads may share
// one load is for passes to decide.
#ifndef OCANNL_CORE_OPS_EXPR_H_
#define OCANNL_CORE_OPS_EXPR_H_

#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/containers/pool.h"
#include "ocannl/core/ops/node_map.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {

// A number by its bits, so that -0 and 0 differ; every NaN has the same bits.
struct Constant {
  DType dtype;
  uint64_t bits;

  friend bool operator==(const Constant&, const Constant&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Constant& c) {
    return H::combine(std::move(h), c.dtype, c.bits);
  }
};

struct Leaf {
  DType dtype;
  int32_t id;

  friend bool operator==(const Leaf&, const Leaf&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Leaf& leaf) {
    return H::combine(std::move(h), leaf.dtype, leaf.id);
  }
};

struct Apply {
  Op op;
  DType dtype;  // of the result
  absl::InlinedVector<ExprId, 3> args;

  friend bool operator==(const Apply&, const Apply&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Apply& apply) {
    return H::combine(std::move(h), apply.op, apply.dtype, apply.args);
  }
};

using ExprNode = std::variant<Constant, Leaf, Apply>;
using ExprPool = InternPool<ExprId, ExprNode>;
extern template class InternPool<ExprId, ExprNode>;

DType TypeOf(const ExprPool& pool, ExprId id);

// The constant of type `dtype` nearest to `value`.
Constant MakeConstant(DType dtype, double value);

// The value of `constant` as a double; rounds integers beyond 2^53.
double ToDouble(const Constant& constant);

// The constant whose bits are `bits`, with NaNs made canonical.
Constant FromBits(DType dtype, uint64_t bits);

// A node of a pool, with operators. A literal in an expression takes the type
// of the operand beside it. CHECK-fails on wrong types; user input goes through
// ResultType first.
class Expr {
 public:
  Expr(ExprPool* pool, ExprId id) : pool_(pool), id_(id) {}

  ExprPool* pool() const { return pool_; }
  ExprId id() const { return id_; }
  DType dtype() const { return TypeOf(*pool_, id_); }

 private:
  ExprPool* pool_;
  ExprId id_;
};

Expr MakeLeaf(ExprPool& pool, DType dtype, int32_t leaf);
Expr Literal(ExprPool& pool, DType dtype, double value);
// The literal of the same type and pool as `like`.
Expr LiteralLike(Expr like, double value);
Expr FromConstant(ExprPool& pool, const Constant& constant);

// op(args...); `wanted` is the result type of Convert and Bitcast.
Expr ApplyOp(Op op, absl::Span<const Expr> args, DType wanted);

Expr Convert(Expr a, DType dtype);  // a itself when it has that type
Expr Bitcast(Expr a, DType dtype);

// Calls `visit` with `root` and each node below it, each once.
void WalkNodes(const ExprPool& pool, ExprId root,
               absl::FunctionRef<void(const ExprNode&)> visit);

// Calls `visit` with `root` and each node below it, operands before what uses
// them, but for those that `done` has; it then has what `visit` returned. The
// pool may grow meanwhile.
template <class Value>
Value VisitOnce(const ExprPool& pool, ExprId root, NodeMap<Value>& done,
                absl::FunctionRef<Value(ExprId)> visit) {
  absl::InlinedVector<ExprId, 32> stack = {root};
  while (!stack.empty()) {
    const ExprId id = stack.back();
    bool ready = !done.contains(id);
    if (!ready) {
      stack.pop_back();
      continue;
    }
    if (const Apply* apply = std::get_if<Apply>(&pool[id])) {
      for (ExprId arg : apply->args) {
        if (done.contains(arg)) continue;
        stack.push_back(arg);
        ready = false;
      }
    }
    if (!ready) continue;
    stack.pop_back();
    done.emplace(id, visit(id));
  }
  return done.at(root);
}

using ExprMap = NodeMap<ExprId>;

// The expression `root` of the pool `from`, added to the pool `to`.
ExprId CopyExpr(const ExprPool& from, ExprId root, ExprPool& to);

// The same, with `leaf(leaf)` in the place of each leaf; `copies` has what was
// copied so.
ExprId CopyExpr(const ExprPool& from, ExprId root, ExprPool& to,
                ExprMap& copies, absl::FunctionRef<ExprId(const Leaf&)> leaf);

// A literal or an expression: the operand type of the functions below.
struct Operand {
  Operand(double v) : value(v) {}         // NOLINT
  Operand(int v) : value(v) {}            // NOLINT
  Operand(Expr e) : value(0), expr(e) {}  // NOLINT
  double value;
  std::optional<Expr> expr;
};

// op(args...) with literals given types by the other operands.
Expr ApplyOperands(Op op, absl::Span<const Operand> args);

// One function per op of ops.def: Max(0, x), Select(a < b, g, 0), Fma(a, b, c).
#define PRIMITIVE(name, ...) DERIVED(name)
#define DERIVED(name, ...)                                       \
  template <class... Args>                                       \
  requires(std::convertible_to<Args, Operand> && ...) Expr name( \
      const Args&... args) {                                     \
    return ApplyOperands(Op::k##name, {Operand(args)...});       \
  }
#include "ocannl/core/ops/ops.def"
#undef PRIMITIVE
#undef DERIVED

#define OCANNL_INFIX(symbol, name)                                     \
  inline Expr operator symbol(Expr a, Expr b) { return name(a, b); }   \
  inline Expr operator symbol(Expr a, double b) { return name(a, b); } \
  inline Expr operator symbol(double a, Expr b) { return name(a, b); }
OCANNL_INFIX(+, Add)
OCANNL_INFIX(-, Sub)
OCANNL_INFIX(*, Mul)
OCANNL_INFIX(/, Div)
OCANNL_INFIX(%, Rem)
OCANNL_INFIX(&, And)
OCANNL_INFIX(|, Or)
OCANNL_INFIX(^, Xor)
OCANNL_INFIX(<<, Shl)
OCANNL_INFIX(>>, Shr)
OCANNL_INFIX(<, Less)
OCANNL_INFIX(<=, LessEqual)
#undef OCANNL_INFIX
inline Expr operator-(Expr a) { return Neg(a); }

}  // namespace ocannl

#endif  // OCANNL_CORE_OPS_EXPR_H_
