// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/stored.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <type_traits>

#include "gtest/gtest.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/narrow_float.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl {
namespace {

template <class T>
constexpr DType kDTypeOf = [] {
  DType found{};
#define OCANNL_FIND(name, text, type) \
  if (std::is_same_v<T, type>) found = DType::k##name;
  OCANNL_DTYPES(OCANNL_FIND)
#undef OCANNL_FIND
  return found;
}();

template <class T>
Constant ConstantOf(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return FromBits(kDTypeOf<T>, bits);
}

// fma of numbers as StoredAs computes it.
template <class T>
double Computed(T a, T b, T c) {
  ExprPool pool;
  auto number = [&](T value) {
    return Literal(pool, DType::kF32, static_cast<double>(value));
  };
  const Expr fma = Fma(number(a), number(b), number(c));
  return ToDouble(Fold(pool, StoredAs(fma, kDTypeOf<T>).id()));
}

// A number as m * 2^e.
struct Scaled {
  explicit Scaled(double x) {
    m = static_cast<int64_t>(std::ldexp(std::frexp(x, &e), 12));
    e -= 12;
  }
  __int128 m;
  int e;
};

// fma by exact integers, rounded once; nullopt: they are too far apart.
template <class T>
std::optional<double> Exact(T a, T b, T c) {
  const Scaled x(static_cast<double>(a)), y(static_cast<double>(b)),
      z(static_cast<double>(c));
  const __int128 product = x.m * y.m;
  const int product_e = x.e + y.e;
  const int least = std::min(product_e, z.e);
  if (product_e - least > 100 || z.e - least > 110) return std::nullopt;
  const __int128 sum =
      (product << (product_e - least)) + (z.m << (z.e - least));
  if (sum == 0) return static_cast<double>(T::Round(0));
  // To 53 bits, the last of them 1 if any that are dropped are.
  __int128 magnitude = sum < 0 ? -sum : sum;
  int dropped = 0;
  bool rest = false;
  for (; magnitude >> 53 != 0; ++dropped) {
    rest = rest || (magnitude & 1) != 0;
    magnitude >>= 1;
  }
  const auto odd = static_cast<double>(static_cast<int64_t>(magnitude) |
                                       static_cast<int64_t>(rest));
  return static_cast<double>(
      T::Round(std::ldexp(sum < 0 ? -odd : odd, least + dropped)));
}

template <class T>
class StoredTest : public testing::Test {};
using NarrowTypes = testing::Types<F16, BF16, F8E5M2, F8E4M3>;
TYPED_TEST_SUITE(StoredTest, NarrowTypes);

// 0.7 s for each type.
TYPED_TEST(StoredTest, FmaIsRoundedOnce) {
  using T = TypeParam;
  std::mt19937 random(7);
  auto draw = [&] {
    T value;
    do {
      value.bits = static_cast<typename T::Bits>(random());
    } while (!std::isfinite(static_cast<double>(value)));
    return value;
  };
  int compared = 0, twice_differs = 0;
  for (int k = 0; k < 10000; ++k) {
    T a = draw();
    const T b = draw();
    T c = draw();
    // A product of few bits is often a midpoint, and c beyond the last place of
    // an f32.
    if (k % 2 == 0) {
      a.bits &= ~((1 << (T::kFractionBits - 1)) - 1);
      const double product = static_cast<double>(a) * static_cast<double>(b);
      const int places = 10 + static_cast<int>(random() % 40);
      const T small = T::Round(std::ldexp(product, -places));
      if (std::isfinite(static_cast<double>(small))) c = small;
      if (random() % 2 != 0) c.bits ^= T::kSign;
    }
    const std::optional<double> exact = Exact(a, b, c);
    if (!exact) continue;
    ++compared;
    const double computed = Computed(a, b, c);
    EXPECT_TRUE(computed == *exact ||
                (std::isnan(computed) && std::isnan(*exact)))
        << static_cast<double>(a) << " * " << static_cast<double>(b) << " + "
        << static_cast<double>(c) << " is " << *exact << ", not " << computed;
    const auto twice = static_cast<double>(T::Round(std::fma(
        static_cast<float>(a), static_cast<float>(b), static_cast<float>(c))));
    twice_differs += twice != *exact && !std::isnan(twice);
  }
  EXPECT_GT(compared, 6000);
  // Of a type with so few exponents, f32 holds every sum that matters.
  EXPECT_EQ(twice_differs > 0, kDTypeOf<T> != DType::kF8E4M3);
}

// What is not of the narrow type itself is computed in f32, and stays so.
TEST(StoredAsTest, OtherValuesAreConverted) {
  ExprPool pool;
  const Expr narrow = Convert(MakeLeaf(pool, DType::kF16, 0), DType::kF32);
  const Expr other = Convert(MakeLeaf(pool, DType::kBF16, 1), DType::kF32);
  const Expr wide = MakeLeaf(pool, DType::kF32, 2);
  for (const Expr& value :
       {Fma(narrow, narrow, wide), Fma(narrow, other, narrow),
        Fma(narrow, narrow, 0.1), narrow * narrow}) {
    EXPECT_EQ(StoredAs(value, DType::kF16).id(),
              Convert(value, DType::kF16).id());
  }
  const Expr fma = Fma(narrow, narrow, narrow);
  EXPECT_EQ(StoredAs(fma, DType::kF32).id(), fma.id());
  EXPECT_NE(StoredAs(Fma(narrow, 0.5, narrow), DType::kF16).id(),
            Convert(Fma(narrow, 0.5, narrow), DType::kF16).id());
}

}  // namespace
}  // namespace ocannl
