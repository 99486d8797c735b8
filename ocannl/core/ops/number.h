// SPDX-License-Identifier: Apache-2.0
//
// The primitives of ops.def on C++ numbers: the definition that the
// interpreter runs, constants are folded with, and every tier must equal.
//
//   number::Max(1.f, NAN)   is NAN: the second operand wins unless a > b
//   number::Maximum(NAN, 1.f)   is NAN, as it is in any order
//
// Build with -ffp-contract=off: one function is one rounding.
#ifndef OCANNL_CORE_OPS_NUMBER_H_
#define OCANNL_CORE_OPS_NUMBER_H_

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ocannl/core/base/narrow_float.h"

namespace ocannl::number {

template <class T>
concept Float = std::floating_point<T>;
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

// Unsigned arithmetic of at least 32 bits wraps without undefined behaviour.
template <Integer T>
using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
constexpr int kWidth = 8 * sizeof(T);

// clang-format off
template <Float T> T Add(T a, T b) { return a + b; }
template <Float T> T Sub(T a, T b) { return a - b; }
template <Float T> T Mul(T a, T b) { return a * b; }
template <Float T> T Div(T a, T b) { return a / b; }
template <Float T> T Rem(T a, T b) { return std::fmod(a, b); }
template <Float T> T Neg(T a) { return -a; }
template <Float T> T Abs(T a) { return std::abs(a); }
template <Float T> T Fma(T a, T b, T c) { return std::fma(a, b, c); }
template <Float T> T Sqrt(T a) { return std::sqrt(a); }
template <Float T> T Floor(T a) { return std::floor(a); }
template <Float T> T Ceil(T a) { return std::ceil(a); }
template <Float T> T Trunc(T a) { return std::trunc(a); }
template <Float T> T Round(T a) { return std::nearbyint(a); }

template <Integer T> T Add(T a, T b) { return T(Wide<T>(a) + Wide<T>(b)); }
template <Integer T> T Sub(T a, T b) { return T(Wide<T>(a) - Wide<T>(b)); }
template <Integer T> T Mul(T a, T b) { return T(Wide<T>(a) * Wide<T>(b)); }
template <Integer T> T Neg(T a) { return Sub(T(0), a); }
template <Integer T> T Abs(T a) { return a < 0 ? Neg(a) : a; }
// clang-format on

// Truncating; the least integer divided by -1 wraps to itself.
template <Integer T>
T Div(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return Neg(a);
  }
  return a / b;
}

template <Integer T>
T Rem(T a, T b) {
  if (b == 0) return 0;
  return Sub(a, Mul(Div(a, b), b));
}

// clang-format off
template <class T> T Min(T a, T b) { return a < b ? a : b; }
template <class T> T Max(T a, T b) { return a > b ? a : b; }
template <Float T> T Minimum(T a, T b) { return b < a || b != b ? b : a; }
template <Float T> T Maximum(T a, T b) { return b > a || b != b ? b : a; }
template <class T> bool Less(T a, T b) { return a < b; }
template <class T> bool LessEqual(T a, T b) { return a <= b; }
template <class T> bool Equal(T a, T b) { return a == b; }
template <class T> bool NotEqual(T a, T b) { return a != b; }
template <class T> T Select(bool c, T a, T b) { return c ? a : b; }

template <std::integral T> T And(T a, T b) { return a & b; }
template <std::integral T> T Or(T a, T b) { return a | b; }
template <std::integral T> T Xor(T a, T b) { return a ^ b; }
template <Integer T> T Not(T a) { return T(~a); }
inline bool Not(bool a) { return !a; }
// clang-format on

template <Integer T>
T Shl(T a, T b) {
  auto amount = std::make_unsigned_t<T>(b);
  return amount < kWidth<T> ? T(Wide<T>(a) << amount) : T(0);
}

template <Integer T>
T Shr(T a, T b) {
  auto amount = std::make_unsigned_t<T>(b);
  if (amount < kWidth<T>) return T(a >> amount);
  return a < 0 ? T(-1) : T(0);
}

template <Integer T>
T Rotl(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return T(std::rotl(U(a), static_cast<int>(U(b) % kWidth<T>)));
}

// `a`, or the odd one of its neighbours if no double is: rounding the result to
// less bits is rounding `a` once.
template <Integer T>
double ToOdd(T a) {
  if constexpr (sizeof(T) < 8) {
    return a;
  } else {
    const bool negative = a < 0;
    auto magnitude = static_cast<uint64_t>(a);
    if (negative) magnitude = -magnitude;
    if (magnitude >> 53 != 0) {
      const uint64_t rest = magnitude & 0x7ff;
      magnitude = (magnitude - rest) | (rest != 0 ? 0x800 : 0);
    }
    const auto result = static_cast<double>(magnitude);
    return negative ? -result : result;
  }
}

template <class To, class From>
To Convert(From a) {
  if constexpr (std::same_as<To, From>) {
    return a;
  } else if constexpr (kIsNarrow<From>) {
    return Convert<To>(static_cast<float>(a));
  } else if constexpr (kIsNarrow<To> && Integer<From>) {
    return To::Round(ToOdd(a));
  } else if constexpr (kIsNarrow<To>) {
    return To::Round(a);
  } else if constexpr (std::same_as<To, bool>) {
    return a != From(0);
  } else if constexpr (Integer<To> && Float<From>) {
    // The least value beyond the range is a power of two, hence exact.
    const From beyond = std::ldexp(From(1), std::numeric_limits<To>::digits);
    if (!(a == a)) return 0;
    if (a >= beyond) return std::numeric_limits<To>::max();
    if (std::is_signed_v<To> ? a < -beyond : a <= From(-1)) {
      return std::numeric_limits<To>::min();
    }
    return static_cast<To>(a);
  } else {
    return static_cast<To>(a);
  }
}

// A NaN keeps its bits too: rows.h says what programs see of it.
template <class To, class From>
To Bitcast(From a) {
  static_assert(sizeof(To) == sizeof(From));
  return std::bit_cast<To>(a);
}

}  // namespace ocannl::number

#endif  // OCANNL_CORE_OPS_NUMBER_H_
