// SPDX-License-Identifier: Apache-2.0
//
// Square roots are the numbers nearest to the exact ones, also where they are
// made of fmas (ocannl/jit/vcode/passes/legalize_root.cc). All 2^32 numbers
// take minutes:
//
//   bazel test -c opt //tests/jit:root_test --test_output=streamed
//       --test_arg=--gtest_also_run_disabled_tests
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/tiers/tiers.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

constexpr uint64_t kCells = 1 << 16;
constexpr char kProgram[] = R"(p ():
  in x : f32[65536];
  out y : f32[65536];
  for i0 = 0 to 65535 { y[i0] := sqrt(x[i0]); }
)";

std::byte* Bytes(std::vector<float>& cells) {
  return reinterpret_cast<std::byte*>(cells.data());
}

// The numbers whose bits are begin + k step < end.
void ExpectNearestRoots(uint64_t begin, uint64_t end, uint64_t step) {
  for (const std::string& tier : AvailableTiers()) {
    if (tier == "interp") continue;  // it calls sqrt
    auto executable =
        (*FindTier(tier, {.threads = 1}))->Compile(MustParse(kProgram));
    ASSERT_TRUE(executable.ok()) << executable.status();
    std::vector<float> x(kCells), y(kCells), expected(kCells);
    for (uint64_t block = begin; block < end; block += kCells * step) {
      for (uint64_t k = 0; k < kCells; ++k) {
        const auto bits = static_cast<uint32_t>(block + k * step);
        std::memcpy(&x[k], &bits, sizeof(bits));
        expected[k] = std::sqrt(x[k]);
      }
      (*executable)->Run({Bytes(x), Bytes(y)}, {});
      if (std::memcmp(y.data(), expected.data(), kCells * 4) == 0) continue;
      for (uint64_t k = 0; k < kCells; ++k) {
        ASSERT_EQ(std::memcmp(&y[k], &expected[k], 4), 0)
            << tier << ": sqrt of " << x[k] << " is " << y[k];
      }
    }
  }
}

// Of both parities of the exponent, which decide the digits.
TEST(RootTest, OfAllDigits) { ExpectNearestRoots(0x3f800000, 0x40800000, 1); }

TEST(RootTest, OfEveryRange) {
  ExpectNearestRoots(0, uint64_t{1} << 32, 1021);
  // Infinities, NaNs and numbers next to them.
  ExpectNearestRoots(0x7f7f0000, 0x7f810000, 1);
  ExpectNearestRoots(0xff7f0000, 0xff810000, 1);
  // Zeros and subnormal numbers.
  ExpectNearestRoots(0, 0x10000, 1);
  ExpectNearestRoots(0x80000000, 0x80010000, 1);
}

TEST(RootTest, DISABLED_OfAllNumbers) {
  ExpectNearestRoots(0, uint64_t{1} << 32, 1);
}

}  // namespace
}  // namespace ocannl
