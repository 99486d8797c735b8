// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/stored.h"

#include <variant>

#include "absl/algorithm/container.h"

namespace ocannl {
namespace {

// Whether the node is a leaf of `dtype`, converted, or a number of it.
bool IsOf(const ExprPool& pool, DType dtype, ExprId id) {
  if (const auto* constant = std::get_if<Constant>(&pool[id])) {
    const Constant rounded = MakeConstant(dtype, ToDouble(*constant));
    return MakeConstant(constant->dtype, ToDouble(rounded)) == *constant;
  }
  const auto* apply = std::get_if<Apply>(&pool[id]);
  return apply != nullptr && apply->op == Op::kConvert &&
         std::holds_alternative<Leaf>(pool[apply->args[0]]) &&
         TypeOf(pool, apply->args[0]) == dtype;
}

// `x`, an f32, or the odd one of its neighbours if `error`, what is missing of
// it, is not 0.
Expr ToOdd(Expr x, Expr error) {
  const Expr bits = Bitcast(x, DType::kI32);
  const Expr outward = Select(Less(bits, 0), -error, error);
  // Of a NaN, which an infinite sum has, it is 0.
  const Expr step = Select(Less(0, outward), LiteralLike(bits, 1),
                           Select(Less(outward, 0), LiteralLike(bits, -1), 0));
  const Expr is_even = Equal(And(bits, 1), 0);
  return Bitcast(Select(is_even, bits + step, bits), DType::kF32);
}

// The dtype in which products of the narrow one are exact: f64 where exponents
// would leave the range of f32.
DType DTypeOfProducts(DType narrow) {
  return VisitDType(narrow, [](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsNarrow<T>) {
      constexpr bool kFits = T::kExponentBits < 8 && T::kFractionBits < 12;
      if (kFits) return DType::kF32;
    }
    return DType::kF64;
  });
}

// a * b + c, rounded to an odd f32.
Expr FmaToOdd(absl::Span<const Expr> args, DType narrow) {
  const DType wide = DTypeOfProducts(narrow);
  const Expr product = Convert(args[0], wide) * Convert(args[1], wide);
  const Expr c = Convert(args[2], wide);
  // TwoSum: the error of a sum is a float (Knuth, Moller).
  const Expr sum = product + c;
  const Expr of_c = sum - product;
  Expr error = (product - (sum - of_c)) + (c - of_c);
  const Expr rounded = Convert(sum, DType::kF32);
  if (wide == DType::kF64) error = (sum - Convert(rounded, wide)) + error;
  return ToOdd(rounded, error);
}

}  // namespace

Expr StoredAs(Expr value, DType dtype) {
  ExprPool& pool = *value.pool();
  const auto* apply = std::get_if<Apply>(&pool[value.id()]);
  const bool is_fma = apply != nullptr && apply->op == Op::kFma &&
                      IsNarrow(dtype) && apply->dtype == DType::kF32;
  if (!is_fma || !absl::c_all_of(apply->args, [&](ExprId arg) {
        return IsOf(pool, dtype, arg);
      })) {
    return Convert(value, dtype);
  }
  absl::InlinedVector<Expr, 3> args;
  for (ExprId arg : apply->args) args.emplace_back(&pool, arg);
  return Convert(FmaToOdd(args, dtype), dtype);
}

}  // namespace ocannl
