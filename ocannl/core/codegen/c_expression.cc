// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/codegen/c_expression.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"
#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

constexpr absl::string_view kTypesOfC = R"(#include <stdbool.h>
#include <stdint.h>
#include <string.h>
typedef bool bool_t;
typedef uint8_t u8_t;
typedef uint16_t u16_t;
typedef int32_t i32_t;
typedef uint32_t u32_t;
typedef int64_t i64_t;
typedef uint64_t u64_t;
#define FUNCTION static inline
#define CAST(to, from, a) \
  ({ from cast_a = (a); to cast_b; memcpy(&cast_b, &cast_a, sizeof cast_b); \
     cast_b; })
)";

constexpr absl::string_view kTypesOfCuda = R"(typedef bool bool_t;
typedef unsigned char u8_t;
typedef unsigned short u16_t;
typedef int i32_t;
typedef unsigned u32_t;
typedef long long i64_t;
typedef unsigned long long u64_t;
#define FUNCTION static __device__ inline
template <class To, class From>
FUNCTION To Cast(From a) {
  To b;
  memcpy(&b, &a, sizeof b);
  return b;
}
#define CAST(to, from, a) (Cast<to, from>(a))
)";

// What both have, and functions for what needs them: base/narrow_float.h,
// number::ToOdd and number::Convert.
struct Part {
  absl::string_view name;  // in the texts that need it; empty: all do
  absl::string_view text;
};

constexpr Part kParts[] = {
    {"", R"(typedef float f32_t;
typedef double f64_t;
)"},
    {"vec_t<", R"(
template <class T, int count>
struct __align__(sizeof(T) * count) vec_t {
  T c[count];
};
)"},
    {"TO_INT(", R"(
// Saturates; the comparison with NaN is false.
#define TO_INT(to, least, greatest, beyond, a)        \
  ((a) >= (beyond)  ? (to)(greatest)                  \
   : (a) >= (least) ? (to)(a)                         \
   : (a) < (least)  ? (to)(least) : (to)0)
)"},
    {"to_odd(", R"(
FUNCTION f64_t to_odd(u64_t magnitude, bool_t negative) {
  if (magnitude >> 53 != 0) {
    const u64_t rest = magnitude & 0x7ff;
    magnitude = (magnitude - rest) | (rest != 0 ? 0x800 : 0);
  }
  return negative ? -(f64_t)magnitude : (f64_t)magnitude;
}
)"},
    {"narrow(", R"(
FUNCTION u32_t narrow(f64_t x, int exponent, int fraction, bool_t infinity) {
  const int bias = (1 << (exponent - 1)) - 1, dropped = 52 - fraction;
  const u64_t sign = 1ull << (exponent + fraction);
  const u64_t beyond = infinity ? sign - (1ull << fraction) : sign - 1;
  const u64_t all = CAST(u64_t, f64_t, x);
  u64_t bits = all & ~(1ull << 63);
  if (x != x) {
    return infinity ? (sign - 1) ^ ((1ull << (fraction - 1)) - 1) : sign - 1;
  }
  if (bits < (u64_t)(1024 - bias) << 52) {
    const u64_t steps = (u64_t)(1024 - bias + dropped) << 52;
    const f64_t sum = CAST(f64_t, u64_t, bits) + CAST(f64_t, u64_t, steps);
    bits = CAST(u64_t, f64_t, sum) - steps;
  } else {
    bits -= (u64_t)(1023 - bias) << 52;
    bits += (1ull << (dropped - 1)) - 1 + (bits >> dropped & 1);
    bits >>= dropped;
  }
  if (bits >= beyond) {
    if (!infinity) return beyond;
    bits = beyond;
  }
  return all >> 63 ? bits | sign : bits;
}
)"},
    {"widen(", R"(
FUNCTION f32_t widen(u32_t bits, int exponent, int fraction, bool_t infinity) {
  const int bias = (1 << (exponent - 1)) - 1;
  const u32_t sign = 1u << (exponent + fraction);
  const u32_t beyond = infinity ? sign - (1u << fraction) : sign - 1;
  const u32_t magnitude = bits & (sign - 1);
  const u32_t scale = (u32_t)(254 - bias) << 23;
  const u32_t scaled = magnitude << (23 - fraction);
  f32_t x = CAST(f32_t, u32_t, scaled) * CAST(f32_t, u32_t, scale);
  if (magnitude >= beyond) {
    const bool_t is_nan = !infinity || magnitude != beyond;
    x = CAST(f32_t, u32_t, is_nan ? 0x7fc00000u : 0x7f800000u);
  }
  return bits & sign ? -x : x;
}
)"},
};

// What follows of narrow() and widen(): the widths of exponent and fraction,
// and whether there is an infinity.
std::string FormatOf(DType dtype) {
  return VisitDType(dtype, [](auto zero) -> std::string {
    using T = decltype(zero);
    if constexpr (kIsNarrow<T>) {
      return absl::StrCat(T::kExponentBits, ", ", T::kFractionBits, ", ",
                          T::kHasInfinity ? 1 : 0);
    } else {
      return "";
    }
  });
}

// From a float to an integer.
std::string SaturatingText(DType to, DType from, absl::string_view a) {
  const int bits = 8 * static_cast<int>(SizeOf(to)) - (IsSigned(to) ? 1 : 0);
  const std::string beyond =
      absl::StrFormat("0x1p%d%s", bits, from == DType::kF32 ? "f" : "");
  const std::string greatest =
      absl::StrFormat("0x%xull", bits == 64 ? ~0ull : (1ull << bits) - 1);
  const std::string least = IsSigned(to) ? absl::StrCat("-", beyond) : "0";
  return absl::Substitute("TO_INT($0, $1, $2, $3, $4)", CType(to), least,
                          greatest, beyond, a);
}

std::string ConvertText(DType to, DType from, const std::string& a) {
  if (to == from) return a;
  if (const std::string format = FormatOf(from); !format.empty()) {
    return ConvertText(to, DType::kF32,
                       absl::StrCat("widen(", a, ", ", format, ")"));
  }
  if (const std::string format = FormatOf(to); !format.empty()) {
    std::string number = absl::StrCat("(f64_t)", a);
    if (IsInteger(from) && SizeOf(from) == 8) {
      const bool is_signed = IsSigned(from);
      number = absl::Substitute(is_signed
                                    ? "to_odd($0 < 0 ? -(u64_t)$0 : $0, $0 < 0)"
                                    : "to_odd($0, 0)",
                                a);
    }
    return absl::StrCat("narrow(", number, ", ", format, ")");
  }
  if (to == DType::kBool) return absl::StrCat(a, " != 0");
  if (IsFloat(from) && IsInteger(to)) return SaturatingText(to, from, a);
  return absl::StrCat("(", CType(to), ")", a);
}

// How an op is written by the type of its result, or of its operands for those
// that give a bool: $0 to $2 are names of operands, $3 is the type, $4 one of
// at least 32 bits that wraps, $5 its width, $6 the suffix of functions of
// floats, $7 the letter of CUDA's. Where a field is empty, the op is not of
// such; of_unsigned is as of_signed then, and of_cuda as of_float.
struct OpText {
  Op op;
  absl::string_view of_float, of_signed, of_unsigned, of_cuda;
};

constexpr OpText kOpTexts[] = {
    {Op::kAdd, "$0 + $1", "($3)(($4)$0 + ($4)$1)", "", "__$7add_rn($0, $1)"},
    {Op::kSub, "$0 - $1", "($3)(($4)$0 - ($4)$1)", "", "__$7sub_rn($0, $1)"},
    {Op::kMul, "$0 * $1", "($3)(($4)$0 * ($4)$1)", "", "__$7mul_rn($0, $1)"},
    {Op::kDiv, "$0 / $1", "$1 == 0 ? 0 : $1 == -1 ? ($3)(0 - ($4)$0) : $0 / $1",
     "$1 == 0 ? 0 : $0 / $1", "__$7div_rn($0, $1)"},
    {Op::kRem, "__builtin_fmod$6($0, $1)", "$1 == 0 || $1 == -1 ? 0 : $0 % $1",
     "$1 == 0 ? 0 : $0 % $1", "fmod$6($0, $1)"},
    {Op::kNeg, "-$0", "($3)(0 - ($4)$0)", "", ""},
    {Op::kAbs, "__builtin_fabs$6($0)", "$0 < 0 ? ($3)(0 - ($4)$0) : $0", "$0",
     "fabs$6($0)"},
    {Op::kMin, "$0 < $1 ? $0 : $1", "$0 < $1 ? $0 : $1", "", ""},
    {Op::kMax, "$0 > $1 ? $0 : $1", "$0 > $1 ? $0 : $1", "", ""},
    {Op::kMinimum, "$1 < $0 || $1 != $1 ? $1 : $0", "", "", ""},
    {Op::kMaximum, "$1 > $0 || $1 != $1 ? $1 : $0", "", "", ""},
    {Op::kFma, "__builtin_fma$6($0, $1, $2)", "", "", "__fma$6_rn($0, $1, $2)"},
    {Op::kSqrt, "__builtin_sqrt$6($0)", "", "", "__$7sqrt_rn($0)"},
    {Op::kFloor, "__builtin_floor$6($0)", "", "", "floor$6($0)"},
    {Op::kCeil, "__builtin_ceil$6($0)", "", "", "ceil$6($0)"},
    {Op::kTrunc, "__builtin_trunc$6($0)", "", "", "trunc$6($0)"},
    {Op::kRound, "__builtin_nearbyint$6($0)", "", "", "rint$6($0)"},
    {Op::kLess, "$0 < $1", "$0 < $1", "", ""},
    {Op::kLessEqual, "$0 <= $1", "$0 <= $1", "", ""},
    {Op::kEqual, "$0 == $1", "$0 == $1", "", ""},
    {Op::kNotEqual, "$0 != $1", "$0 != $1", "", ""},
    {Op::kSelect, "$0 ? $1 : $2", "$0 ? $1 : $2", "", ""},
    {Op::kAnd, "", "$0 & $1", "", ""},
    {Op::kOr, "", "$0 | $1", "", ""},
    {Op::kXor, "", "$0 ^ $1", "", ""},
    {Op::kNot, "", "~$0", "", ""},
    {Op::kShl, "", "($4)$1 < $5 ? ($3)(($4)$0 << $1) : 0", "", ""},
    {Op::kShr, "", "($4)$1 < $5 ? $0 >> $1 : $0 >> ($5 - 1)",
     "$1 < $5 ? $0 >> $1 : 0", ""},
    {Op::kRotl, "",
     "($3)(($4)$0 << (($4)$1 % $5) | ($4)$0 >> (($5 - ($4)$1 % $5) % $5))", "",
     ""},
};

}  // namespace

std::string WithPrelude(CDialect dialect, absl::string_view text) {
  std::string all(dialect == CDialect::kC ? kTypesOfC : kTypesOfCuda);
  for (const Part& part : kParts) {
    if (absl::StrContains(text, part.name)) absl::StrAppend(&all, part.text);
  }
  absl::StrAppend(&all, "\n", text);
  return all;
}

std::string CType(DType dtype) {
  return IsNarrow(dtype) ? absl::StrCat("u", 8 * SizeOf(dtype), "_t")
                         : absl::StrCat(Name(dtype), "_t");
}

std::string CConstant(const Constant& constant) {
  if (constant.dtype == DType::kF32) {
    return absl::StrFormat("CAST(f32_t, u32_t, 0x%xu)", constant.bits);
  }
  if (constant.dtype == DType::kF64) {
    return absl::StrFormat("CAST(f64_t, u64_t, 0x%xull)", constant.bits);
  }
  return absl::StrFormat("(%s)0x%xull", CType(constant.dtype), constant.bits);
}

std::string CApply(CDialect dialect, Op op, DType to, DType from,
                   const std::vector<std::string>& args) {
  if (op == Op::kBitcast) {
    return absl::StrCat("CAST(", CType(to), ", ", CType(from), ", ", args[0],
                        ")");
  }
  if (op == Op::kConvert) return ConvertText(to, from, args[0]);
  if (op == Op::kNot && to == DType::kBool) return absl::StrCat("!", args[0]);
  for (const OpText& row : kOpTexts) {
    if (row.op != op) continue;
    std::vector<std::string> all = args;
    all.resize(3);
    absl::string_view format = row.of_signed;
    if (IsFloat(from)) {
      const bool is_cuda = dialect == CDialect::kCuda && !row.of_cuda.empty();
      format = is_cuda ? row.of_cuda : row.of_float;
    } else if (!IsSigned(from) && !row.of_unsigned.empty()) {
      format = row.of_unsigned;
    }
    const bool is_f32 = from == DType::kF32;
    return absl::Substitute(format, all[0], all[1], all[2], CType(from),
                            SizeOf(from) == 8 ? "u64_t" : "u32_t",
                            8 * SizeOf(from), is_f32 ? "f" : "",
                            is_f32 ? "f" : "d");
  }
  CHECK(false) << Info(op).name << " is not a primitive";
  return "";
}

}  // namespace ocannl
