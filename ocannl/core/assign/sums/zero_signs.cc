// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/sums/zero_signs.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "ocannl/core/assign/loops.h"
#include "ocannl/core/ops/expr.h"

namespace ocannl {
namespace {

// Whether the number is no -0, so that x + number is none.
bool IsNotMinusZero(const ExprPool& pool, ExprId id) {
  const auto* number = std::get_if<Constant>(&pool[id]);
  return number != nullptr && (ToDouble(*number) != 0 || number->bits == 0);
}

// The same for an operand of an expression of `pool`.
ZeroSign SignThrough(const ExprPool& pool, const Apply& apply, size_t arg) {
  const auto& args = apply.args;
  const bool is_added =
      (apply.op == Op::kAdd && IsNotMinusZero(pool, args[1 - arg])) ||
      (apply.op == Op::kSub && arg == 1 && IsNotMinusZero(pool, args[0])) ||
      (apply.op == Op::kFma && arg < 2 && IsNotMinusZero(pool, args[2]));
  if (is_added) return ZeroSign::kHidden;
  if (apply.op == Op::kConvert && !IsFloat(apply.dtype)) {
    return ZeroSign::kHidden;
  }
  return SignThrough(apply.op, arg);
}

// Of each source of an assignment. Most have a few.
using OfSources = absl::InlinedVector<bool, 16>;

// The sources whose signs the value depends on, if results depend on its own.
OfSources VisibleSources(const ExprPool& pool, const Assign& assign,
                         bool is_visible) {
  OfSources sources(assign.sources.size(), false);
  if (const auto* leaf = std::get_if<Leaf>(&pool[assign.rhs])) {
    sources[leaf->id] = is_visible;  // the most frequent value: a copy
    return sources;
  }
  NodeMap<bool> visited[2];  // in places where the sign is not, or is visible
  absl::InlinedVector<std::pair<ExprId, bool>, 16> stack = {
      {assign.rhs, is_visible}};
  while (!stack.empty()) {
    const auto [id, visible] = stack.back();
    stack.pop_back();
    if (!visited[visible ? 1 : 0].emplace(id, true)) continue;
    const auto* leaf = std::get_if<Leaf>(&pool[id]);
    if (leaf != nullptr && visible) sources[leaf->id] = true;
    const auto* apply = std::get_if<Apply>(&pool[id]);
    if (apply == nullptr) continue;
    for (size_t k = 0; k < apply->args.size(); ++k) {
      const ZeroSign sign = SignThrough(pool, *apply, k);
      const bool arg_is_visible =
          sign == ZeroSign::kVisible || (sign == ZeroSign::kPassed && visible);
      stack.emplace_back(apply->args[k], arg_is_visible);
    }
  }
  return sources;
}

// Whether an accumulation depends on the signs of zeros.
bool ShowsSigns(std::optional<Op> accum) {
  return accum && (SignThrough(*accum, 0) == ZeroSign::kVisible ||
                   SignThrough(*accum, 1) == ZeroSign::kVisible);
}

}  // namespace

ZeroSign SignThrough(Op op, size_t arg) {
  switch (op) {
    case Op::kAbs:
    case Op::kSquare:
    case Op::kExp:
    case Op::kSigmoid:
    case Op::kSoftplus:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kEqual:
    case Op::kNotEqual:
      return ZeroSign::kHidden;
    case Op::kReluGate:
    case Op::kSat01Gate:
      return arg == 0 ? ZeroSign::kHidden : ZeroSign::kPassed;
    case Op::kDiv:
      return arg == 0 ? ZeroSign::kPassed : ZeroSign::kVisible;
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kFma:
    case Op::kMul3:
    case Op::kNeg:
    case Op::kMin:
    case Op::kMax:
    case Op::kMinimum:
    case Op::kMaximum:
    case Op::kSelect:
    case Op::kConvert:
    case Op::kSqrt:
    case Op::kRelu:
    case Op::kSat01:
    case Op::kTanh:
    case Op::kSilu:
    case Op::kGelu:
    case Op::kGeluTanh:
      return ZeroSign::kPassed;
    default:
      return ZeroSign::kVisible;
  }
}

bool EndsWithZero(const Assignments& code, const Assign& assign) {
  return assign.accum && !assign.lookup &&
         EndsWithZero(*assign.accum, code.arrays[assign.lhs].dtype) &&
         Reduces(assign.extents, assign.lhs_indices);
}

ZeroSigns FindZeroSigns(const Assignments& code,
                        const std::vector<bool>& is_kept) {
  ZeroSigns signs;  // from the last to the first
  std::vector<bool> visible = is_kept;  // of each array, after an assignment
  for (auto at = code.list.rbegin(); at != code.list.rend(); ++at) {
    const auto* assign = std::get_if<Assign>(&*at);
    if (assign == nullptr) continue;
    const int32_t lhs = assign->lhs;
    signs.target.push_back(visible[lhs]);
    const bool ends_with_zero = EndsWithZero(code, *assign);
    const bool is_visible =
        !ends_with_zero && (visible[lhs] || ShowsSigns(assign->accum));
    const bool reaches_all = ReachesAll(code, *assign);
    const bool starts = assign->reset || (!assign->accum && reaches_all);
    const bool ends = ends_with_zero && reaches_all;
    visible[lhs] = !starts && !ends && (visible[lhs] || is_visible);
    const OfSources shows = VisibleSources(code.exprs, *assign, is_visible);
    signs.sources.insert(signs.sources.end(), shows.rbegin(), shows.rend());
    for (size_t source = 0; source < shows.size(); ++source) {
      if (!shows[source]) continue;
      WalkArrays(assign->sources[source],
                 [&](const ReadArray& read) { visible[read.array] = true; });
    }
  }
  absl::c_reverse(signs.target);
  absl::c_reverse(signs.sources);
  return signs;
}

}  // namespace ocannl
