// SPDX-License-Identifier: Apache-2.0
//
// Floats of 8 and 16 bits, which memory holds and arithmetic does not: a value
// is widened to float, exactly, and rounded once when it is stored.
//
//   F16::Round(65520)   is infinity: the nearest even beyond 65504
#ifndef OCANNL_CORE_BASE_NARROW_FLOAT_H_
#define OCANNL_CORE_BASE_NARROW_FLOAT_H_

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

// Every header that computes with floats includes this one, which refuses
// compilers that would change their bits. GCC contracts a * b + c to one fused
// multiply-add if the processor has one, unless -ffp-contract=off forbids it.
// No macro of GCC tells, so builds that pass this flag define ours
// (tools/cc.bzl).
#if defined(__FAST_MATH__)
#error "ocannl: -ffast-math changes results; compile without it"
#endif
#if defined(__FMA__) && !defined(OCANNL_FP_CONTRACT_OFF)
#error "ocannl: compile with -ffp-contract=off -DOCANNL_FP_CONTRACT_OFF"
#endif
static_assert(FLT_EVAL_METHOD == 0,
              "ocannl: float and double must be computed in their own types");

namespace ocannl {

// A sign, `exponent_bits` and `fraction_bits`, as in IEEE 754 if
// `has_infinity`. Otherwise it is like E4M3 of the 8-bit floats of the Open
// Compute Project (OFP8): all ones are the only NaN, and numbers that are too
// large become NaN.
template <int exponent_bits, int fraction_bits, bool has_infinity>
struct NarrowFloat {
  static_assert(exponent_bits <= 8 && fraction_bits < 23, "float holds all");
  using Bits = std::conditional_t<1 + exponent_bits + fraction_bits == 16,
                                  uint16_t, uint8_t>;
  static constexpr int kExponentBits = exponent_bits;
  static constexpr int kFractionBits = fraction_bits;
  static constexpr bool kHasInfinity = has_infinity;
  static constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  static constexpr int kMaxExponent = kBias + (has_infinity ? 0 : 1);
  static constexpr Bits kSign = Bits{1} << (exponent_bits + fraction_bits);
  static constexpr Bits kNaN =
      has_infinity ? (kSign - 1) ^ ((1 << (fraction_bits - 1)) - 1) : kSign - 1;
  // What is not less is not finite.
  static constexpr Bits kBeyond =
      has_infinity ? kSign - (1 << fraction_bits) : kSign - 1;

  Bits bits;

  // The nearest number, the even one of two.
  static NarrowFloat Round(double x) {
    constexpr int kDropped = 52 - fraction_bits;
    constexpr double kLeastNormal = Power(1 - kBias);
    if (std::isnan(x)) return {kNaN};
    auto bits = std::bit_cast<uint64_t>(std::abs(x));
    if (std::abs(x) < kLeastNormal) {
      // The last bit of this sum is worth the least number.
      constexpr double kSteps = Power(1 - kBias + kDropped);
      bits = std::bit_cast<uint64_t>(std::abs(x) + kSteps) -
             std::bit_cast<uint64_t>(kSteps);
    } else {
      bits -= uint64_t{1023 - kBias} << 52;
      const uint64_t odd = bits >> kDropped & 1;
      bits = (bits + (uint64_t{1} << (kDropped - 1)) - 1 + odd) >> kDropped;
    }
    if (bits >= kBeyond && !has_infinity) return {kNaN};
    bits = std::min<uint64_t>(bits, kBeyond);
    return {static_cast<Bits>(std::signbit(x) ? bits | kSign : bits)};
  }

  // The same number.
  explicit operator float() const {
    const uint32_t magnitude = bits & (kSign - 1);
    const float sign = bits & kSign ? -1 : 1;
    if (magnitude >= kBeyond) {
      return has_infinity && magnitude == kBeyond
                 ? sign * std::numeric_limits<float>::infinity()
                 : std::numeric_limits<float>::quiet_NaN();
    }
    // With the exponent's bias of a float, which is another.
    const auto scaled = std::bit_cast<float>(magnitude << (23 - fraction_bits));
    return sign * static_cast<float>(Power(127 - kBias)) * scaled;
  }
  explicit operator double() const { return static_cast<float>(*this); }

 private:
  static constexpr double Power(int exponent) {
    return std::bit_cast<double>(static_cast<uint64_t>(1023 + exponent) << 52);
  }
};

using F16 = NarrowFloat<5, 10, true>;
using BF16 = NarrowFloat<8, 7, true>;
using F8E5M2 = NarrowFloat<5, 2, true>;
using F8E4M3 = NarrowFloat<4, 3, false>;

template <class T>
constexpr bool kIsNarrow = false;
template <int e, int f, bool i>
constexpr bool kIsNarrow<NarrowFloat<e, f, i>> = true;

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_NARROW_FLOAT_H_
