// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/expr.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "ocannl/core/base/check.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/ops/number.h"

namespace ocannl {

template class InternPool<ExprId, ExprNode>;

DType TypeOf(const ExprPool& pool, ExprId id) {
  return std::visit([](const auto& node) { return node.dtype; }, pool[id]);
}

Constant MakeConstant(DType dtype, double value) {
  return VisitDType(dtype, [&](auto zero) {
    auto typed = number::Convert<decltype(zero)>(value);
    uint64_t bits = 0;
    std::memcpy(&bits, &typed, sizeof(typed));
    return FromBits(dtype, bits);
  });
}

double ToDouble(const Constant& constant) {
  return VisitDType(constant.dtype, [&](auto zero) {
    decltype(zero) typed;
    std::memcpy(&typed, &constant.bits, sizeof(typed));
    return static_cast<double>(typed);
  });
}

Constant FromBits(DType dtype, uint64_t bits) {
  return VisitDType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsNarrow<T> || std::is_floating_point_v<T>) {
      T value;
      std::memcpy(&value, &bits, sizeof(value));
      if (std::isnan(static_cast<double>(value))) {
        value = number::Convert<T>(std::numeric_limits<double>::quiet_NaN());
        bits = 0;
        std::memcpy(&bits, &value, sizeof(value));
      }
    }
    return Constant{.dtype = dtype, .bits = bits};
  });
}

Expr MakeLeaf(ExprPool& pool, DType dtype, int32_t leaf) {
  return Expr(&pool, pool.Add(Leaf{.dtype = dtype, .id = leaf}));
}

Expr FromConstant(ExprPool& pool, const Constant& constant) {
  return Expr(&pool, pool.Add(constant));
}

Expr Literal(ExprPool& pool, DType dtype, double value) {
  return FromConstant(pool, MakeConstant(dtype, value));
}

Expr LiteralLike(Expr like, double value) {
  return Literal(*like.pool(), like.dtype(), value);
}

Expr ApplyOp(Op op, absl::Span<const Expr> args, DType wanted) {
  Apply apply{.op = op, .dtype = wanted, .args = {}};
  absl::InlinedVector<DType, 3> types;
  for (const Expr& arg : args) {
    CHECK(arg.pool() == args[0].pool());
    apply.args.push_back(arg.id());
    types.push_back(arg.dtype());
  }
  absl::StatusOr<DType> type = ResultType(op, types, wanted);
  CHECK_OK(type.status());
  apply.dtype = *type;
  ExprPool* pool = args[0].pool();
  return Expr(pool, pool->Add(std::move(apply)));
}

Expr Convert(Expr a, DType dtype) {
  return a.dtype() == dtype ? a : ApplyOp(Op::kConvert, {a}, dtype);
}

Expr Bitcast(Expr a, DType dtype) {
  return a.dtype() == dtype ? a : ApplyOp(Op::kBitcast, {a}, dtype);
}

void WalkNodes(const ExprPool& pool, ExprId root,
               absl::FunctionRef<void(const ExprNode&)> visit) {
  NodeMap<bool> seen;
  absl::InlinedVector<ExprId, 32> stack;
  for (ExprId next = root;; next = stack.back(), stack.pop_back()) {
    const ExprNode& node = pool[next];
    visit(node);
    if (const Apply* apply = std::get_if<Apply>(&node)) {
      for (ExprId arg : apply->args) {
        if (seen.emplace(arg, true)) stack.push_back(arg);
      }
    }
    if (stack.empty()) return;
  }
}

ExprId CopyExpr(const ExprPool& from, ExprId root, ExprPool& to,
                ExprMap& copies, absl::FunctionRef<ExprId(const Leaf&)> leaf) {
  return VisitOnce<ExprId>(from, root, copies, [&](ExprId id) {
    if (const Leaf* old = std::get_if<Leaf>(&from[id])) return leaf(*old);
    ExprNode node = from[id];
    if (Apply* apply = std::get_if<Apply>(&node)) {
      for (ExprId& arg : apply->args) arg = copies.at(arg);
    }
    return to.Add(std::move(node));
  });
}

ExprId CopyExpr(const ExprPool& from, ExprId root, ExprPool& to) {
  ExprMap copies;
  return CopyExpr(from, root, to, copies,
                  [&](const Leaf& leaf) { return to.Add(leaf); });
}

Expr ApplyOperands(Op op, absl::Span<const Operand> args) {
  // A literal is like the last expression: Select's condition comes first.
  const Expr* like = nullptr;
  for (const Operand& arg : args) {
    if (arg.expr) like = &*arg.expr;
  }
  CHECK(like != nullptr) << Info(op).name << " of literals only";
  absl::InlinedVector<Expr, 3> exprs;
  for (const Operand& arg : args) {
    exprs.push_back(arg.expr ? *arg.expr : LiteralLike(*like, arg.value));
  }
  return ApplyOp(op, exprs, like->dtype());
}

}  // namespace ocannl
