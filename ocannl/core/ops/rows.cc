// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/rows.h"

#include <limits>
#include <utility>
#include <variant>

#include "ocannl/core/base/check.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/eval.h"
#include "ocannl/core/ops/math.h"
#include "ocannl/core/ops/random.h"

namespace ocannl {
namespace {

// The operands of a row by name. A row of fewer operands leaves the rest
// equal to the first, unused.
struct Operands {
  explicit Operands(absl::Span<const Expr> args)
      : a(At(args, 0)),
        b(At(args, 1)),
        c(At(args, 2)),
        d(At(args, 3)),
        e(At(args, 4)),
        f(At(args, 5)) {}

  static Expr At(absl::Span<const Expr> args, size_t i) {
    return args[i < args.size() ? i : 0];
  }

  Expr a, b, c, d, e, f;
};

#define OCANNL_BIND(operands) \
  [[maybe_unused]] const auto& [a, b, c, d, e, f] = operands

#define OCANNL_UNPACK(...) __VA_ARGS__

}  // namespace

Expr Definition(Op op, absl::Span<const Expr> args) {
  const Operands operands(args);
  OCANNL_BIND(operands);
  switch (op) {
#define PRIMITIVE(...)
#define DERIVED(name, text, arity, typing, value, grads) \
  case Op::k##name:                                      \
    return value;
#include "ocannl/core/ops/ops.def"
#undef PRIMITIVE
#undef DERIVED
    default:
      break;
  }
  CHECK(false) << Info(op).name << " is a primitive";
  __builtin_unreachable();
}

std::vector<std::optional<Expr>> Gradients(Op op, absl::Span<const Expr> args,
                                           Expr y, Expr g) {
  const Operands operands(args);
  OCANNL_BIND(operands);
  constexpr std::nullopt_t none = std::nullopt;
  switch (op) {
#define PRIMITIVE(name, text, arity, typing, traits, grads) \
  DERIVED(name, text, arity, typing, , grads)
#define DERIVED(name, text, arity, typing, value, grads) \
  case Op::k##name:                                      \
    return {OCANNL_UNPACK grads};
#include "ocannl/core/ops/ops.def"
#undef PRIMITIVE
#undef DERIVED
  }
  (void)none;
  __builtin_unreachable();
}

ExprId Rewrite(ExprPool& pool, ExprId root, ExprMap& done,
               absl::FunctionRef<ExprId(ExprId)> node) {
  return VisitOnce<ExprId>(pool, root, done, [&](ExprId id) {
    const Apply* apply = std::get_if<Apply>(&pool[id]);
    if (apply == nullptr) return node(id);
    Apply copy = *apply;
    for (ExprId& arg : copy.args) arg = done.at(arg);
    return node(copy.args == apply->args ? id : pool.Add(std::move(copy)));
  });
}

ExprId Rewrite(ExprPool& pool, ExprId root,
               absl::FunctionRef<ExprId(ExprId)> node) {
  ExprMap done;
  return Rewrite(pool, root, done, node);
}

namespace {

// Whether the bits of `id`, if it is a NaN, may be other than canonical.
bool MayHaveOtherNan(const ExprPool& pool, ExprId id) {
  if (!IsFloat(ComputeDType(TypeOf(pool, id)))) return false;
  const Apply* apply = std::get_if<Apply>(&pool[id]);
  if (apply == nullptr) return std::holds_alternative<Leaf>(pool[id]);
  return apply->op != Op::kConvert ||
         IsFloat(ComputeDType(TypeOf(pool, apply->args[0])));
}

ExprId CanonicalBitcast(ExprPool& pool, const Apply& bitcast) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Expr value(&pool, bitcast.args[0]);
  const Expr wide = Convert(value, ComputeDType(value.dtype()));
  const Expr seen = Select(Equal(wide, wide), value, LiteralLike(value, kNan));
  return Bitcast(seen, bitcast.dtype).id();
}

enum class DrawsAre { kExpanded, kKept };

// `is_definition`: of a row, in the place of its operation.
ExprId ExpandFrom(ExprPool& pool, ExprId root, ExprMap& done, DrawsAre draws,
                  bool is_definition) {
  return Rewrite(pool, root, done, [&pool, draws, is_definition](ExprId id) {
    const Apply* apply = std::get_if<Apply>(&pool[id]);
    if (apply == nullptr) return id;
    if (apply->op == Op::kBitcast && !is_definition &&
        MayHaveOtherNan(pool, apply->args[0])) {
      return CanonicalBitcast(pool, Apply(*apply));
    }
    if (Info(apply->op).primitive) return id;
    if (draws == DrawsAre::kKept && IsDraw(apply->op)) return id;
    std::vector<Expr> args;
    ExprMap args_done;  // They hold primitives only.
    for (ExprId arg : apply->args) {
      args.emplace_back(&pool, arg);
      args_done.emplace(arg, arg);
    }
    return ExpandFrom(pool, Definition(apply->op, args).id(), args_done, draws,
                      /*is_definition=*/true);
  });
}

}  // namespace

ExprId Expand(ExprPool& pool, ExprId root) {
  ExprMap done;
  return ExpandFrom(pool, root, done, DrawsAre::kExpanded,
                    /*is_definition=*/false);
}

ExprId ExpandToDraws(ExprPool& pool, ExprId root) {
  ExprMap done;
  return ExpandFrom(pool, root, done, DrawsAre::kKept,
                    /*is_definition=*/false);
}

Constant Fold(ExprPool& pool, ExprId root) {
  ExprId folded = Rewrite(pool, Expand(pool, root), [&](ExprId id) {
    const Apply* apply = std::get_if<Apply>(&pool[id]);
    CHECK(!std::holds_alternative<Leaf>(pool[id]));
    if (apply == nullptr) return id;
    std::vector<Constant> args;
    for (ExprId arg : apply->args) {
      args.push_back(std::get<Constant>(pool[arg]));
    }
    return pool.Add(EvalPrimitive(apply->op, apply->dtype, args));
  });
  return std::get<Constant>(pool[folded]);
}

}  // namespace ocannl
