// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/rows.h"

#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "ocannl/core/base/check.h"
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

namespace {

using Rewritten = absl::flat_hash_map<ExprId, ExprId>;

// Rewrite, where `done` says what stands in the place of some nodes already.
ExprId RewriteFrom(ExprPool& pool, ExprId root,
                   absl::FunctionRef<ExprId(ExprId)> node, Rewritten& done) {
  std::vector<ExprId> stack = {root};
  while (!stack.empty()) {
    ExprId id = stack.back();
    if (done.contains(id)) {
      stack.pop_back();
      continue;
    }
    ExprId rebuilt = id;
    if (const Apply* apply = std::get_if<Apply>(&pool[id])) {
      bool ready = true;
      for (ExprId arg : apply->args) {
        if (done.contains(arg)) continue;
        stack.push_back(arg);
        ready = false;
      }
      if (!ready) continue;
      Apply copy = *apply;
      for (ExprId& arg : copy.args) arg = done.at(arg);
      if (copy.args != apply->args) rebuilt = pool.Add(std::move(copy));
    }
    stack.pop_back();
    done[id] = node(rebuilt);
  }
  return done.at(root);
}

ExprId ExpandFrom(ExprPool& pool, ExprId root, Rewritten& done) {
  auto expand = [&pool](ExprId id) {
    const Apply* apply = std::get_if<Apply>(&pool[id]);
    if (apply == nullptr || Info(apply->op).primitive) return id;
    std::vector<Expr> args;
    Rewritten args_done;  // They hold primitives only.
    for (ExprId arg : apply->args) {
      args.emplace_back(&pool, arg);
      args_done[arg] = arg;
    }
    return ExpandFrom(pool, Definition(apply->op, args).id(), args_done);
  };
  return RewriteFrom(pool, root, expand, done);
}

}  // namespace

ExprId Rewrite(ExprPool& pool, ExprId root,
               absl::FunctionRef<ExprId(ExprId)> node) {
  Rewritten done;
  return RewriteFrom(pool, root, node, done);
}

ExprId Expand(ExprPool& pool, ExprId root) {
  Rewritten done;
  return ExpandFrom(pool, root, done);
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
