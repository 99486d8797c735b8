// SPDX-License-Identifier: Apache-2.0
//
// f16 and bf16 on the host and on every tier against Eigen's half and bfloat16,
// which are written another way: all 65,536 numbers widened, and floats
// rounded. Eigen 3.4 has no floats of 8 bits. 3 seconds. All 2^32 floats on
// demand, in a quarter of an hour:
//
//   bazel test //tests/ops:narrow_eigen_test --test_timeout=7200
//       --test_arg=--gtest_also_run_disabled_tests --test_output=streamed
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/eigen.h"
#include "ocannl/tiers/tiers.h"
#include "tests/support/must_parse.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

constexpr int64_t kNumbers = 1 << 16;
constexpr int64_t kBlock = 1 << 20;

constexpr char kWiden[] = R"(
widen ():
  in narrow : TYPE[65536];
  out wide : f32[65536];
  for i0 = 0 to 65535 {
    wide[i0] := f32(narrow[i0]);
  }
)";
constexpr char kRound[] = R"(
round ():
  in exact : f32[1048576];
  out rounded : TYPE[1048576];
  for i0 = 0 to 1048575 {
    rounded[i0] := TYPE(exact[i0]);
  }
)";

using Bits = std::vector<uint16_t>;
using Floats = std::vector<float>;

// The conversions of one tier.
template <class T, class Eigens>
class Tier {
 public:
  explicit Tier(std::string name)
      : name_(std::move(name)),
        host_(*FindTier(name_)),
        widen_(Link(kWiden)),
        round_(Link(kRound)) {}

  const std::string& name() const { return name_; }

  Floats Widen(const Bits& numbers) {
    return Run<Eigens, float, float>(widen_, "narrow", numbers, "wide");
  }
  Bits Round(const Floats& floats) {
    return Run<float, Eigens, uint16_t>(round_, "exact", floats, "rounded");
  }

 private:
  Routine Link(const char* text) {
    const std::string type(Name(DTypeOf<T>()));
    auto routine = host_.context.CompileAndLink(
        MustParse(absl::StrReplaceAll(text, {{"TYPE", type}})));
    CHECK_OK(routine);
    return *std::move(routine);
  }

  // What a run leaves in the array `out`, from the bits of `values` in `in`.
  template <class In, class Out, class To, class From>
  std::vector<To> Run(Routine& routine, const char* in,
                      const std::vector<From>& values, const char* out) {
    CHECK_OK(
        eigen::FillMap<eigen::Vector<In>>(host_.context, in, [&](auto map) {
          std::memcpy(static_cast<void*>(map.data()), values.data(),
                      sizeof(From) * values.size());
        }));
    CHECK_OK(routine.Run());
    std::vector<To> result(values.size());
    CHECK_OK(eigen::UseMap<eigen::Vector<Out>>(
        host_.context, out, [&](const auto& map) {
          std::memcpy(result.data(), map.data(), sizeof(To) * result.size());
        }));
    return result;
  }

  const std::string name_;
  TestDevice host_;
  Routine widen_, round_;
};

// The bits of NaNs are not part of the contract.
template <class Eigens>
bool SameNumber(uint16_t a, uint16_t b) {
  const auto is_nan = [](uint16_t bits) {
    return (Eigen::numext::isnan)(Eigen::numext::bit_cast<Eigens>(bits));
  };
  return a == b || (is_nan(a) && is_nan(b));
}

template <class T, class Eigens>
class Comparison {
 public:
  Comparison() {
    for (const std::string& name : AvailableTiers()) {
      tiers_.push_back(std::make_unique<Tier<T, Eigens>>(name));
    }
  }

  void CheckAllNumbers() {
    Bits numbers;
    for (int64_t i = 0; i < kNumbers; ++i) numbers.push_back(i);
    const auto check = [&](const std::string& name, const Floats& wide) {
      for (uint16_t bits : numbers) {
        const auto expected =
            static_cast<float>(Eigen::numext::bit_cast<Eigens>(bits));
        const float x = wide[bits];
        ASSERT_TRUE(std::isnan(x) ? std::isnan(expected)
                                  : std::bit_cast<uint32_t>(x) ==
                                        std::bit_cast<uint32_t>(expected))
            << name << ": " << bits << " is " << x << ", not " << expected;
      }
    };
    Floats ours;
    for (uint16_t bits : numbers) ours.push_back(static_cast<float>(T{bits}));
    check("host", ours);
    for (const auto& tier : tiers_) check(tier->name(), tier->Widen(numbers));
  }

  void CheckRounding(const Floats& floats) {
    Bits expected, ours;
    for (float x : floats) {
      expected.push_back(
          Eigen::numext::bit_cast<uint16_t>(static_cast<Eigens>(x)));
      ours.push_back(T::Round(x).bits);
    }
    const auto check = [&](const std::string& name, const Bits& rounded) {
      for (size_t i = 0; i < floats.size(); ++i) {
        ASSERT_TRUE(SameNumber<Eigens>(rounded[i], expected[i]))
            << absl::StreamFormat("%s: %a is rounded to %#x, not to %#x", name,
                                  floats[i], rounded[i], expected[i]);
      }
    };
    check("host", ours);
    for (const auto& tier : tiers_) check(tier->name(), tier->Round(floats));
  }

 private:
  std::vector<std::unique_ptr<Tier<T, Eigens>>> tiers_;
};

// The floats of a block from these bits on.
Floats BlockFrom(uint32_t bits) {
  Floats floats;
  for (int64_t i = 0; i < kBlock; ++i) {
    floats.push_back(std::bit_cast<float>(bits + static_cast<uint32_t>(i)));
  }
  return floats;
}

// The middle of each number and the next greater one of that sign, which is a
// tie, its neighbours, and floats all over the range.
template <class Eigens>
Floats TiesAndMore() {
  Floats floats;
  for (int64_t i = 0; i < kNumbers; ++i) {
    const auto number = [](int64_t bits) {
      return static_cast<float>(
          Eigen::numext::bit_cast<Eigens>(static_cast<uint16_t>(bits)));
    };
    const float tie = number(i) / 2 + number(i + 1) / 2;
    for (float to : {-INFINITY, INFINITY}) {
      floats.push_back(std::nextafter(tie, to));
    }
    floats.push_back(tie);
  }
  const auto step = (int64_t{1} << 32) / (kBlock - floats.size());
  for (int64_t bits = 0; floats.size() < kBlock; bits += step) {
    floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  return floats;
}

template <class T, class Eigens>
void CheckSome() {
  Comparison<T, Eigens> comparison;
  comparison.CheckAllNumbers();
  comparison.CheckRounding(TiesAndMore<Eigens>());
  // From 1, where f16 is subnormal, where it ends, where bf16 is subnormal, and
  // where it ends, with NaNs.
  for (uint32_t bits :
       {0x3f800000u, 0x387f0000u, 0x477f0000u, 0u, 0x7f78'0000u}) {
    comparison.CheckRounding(BlockFrom(bits));
    comparison.CheckRounding(BlockFrom(bits | 0x80000000u));
  }
}

TEST(NarrowEigenTest, F16IsEigensHalf) { CheckSome<F16, Eigen::half>(); }

TEST(NarrowEigenTest, BF16IsEigensBfloat16) {
  CheckSome<BF16, Eigen::bfloat16>();
}

template <class T, class Eigens>
void CheckAll() {
  Comparison<T, Eigens> comparison;
  for (int64_t bits = 0; bits < int64_t{1} << 32; bits += kBlock) {
    comparison.CheckRounding(BlockFrom(static_cast<uint32_t>(bits)));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(NarrowEigenTest, DISABLED_AllFloatsAsF16) { CheckAll<F16, Eigen::half>(); }

TEST(NarrowEigenTest, DISABLED_AllFloatsAsBF16) {
  CheckAll<BF16, Eigen::bfloat16>();
}

}  // namespace
}  // namespace ocannl
