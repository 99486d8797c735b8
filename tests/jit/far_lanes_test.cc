// SPDX-License-Identifier: Apache-2.0
//
// Lanes so far apart that 31 bits do not reach the last one. The array has 2.5
// GB of addresses, and memory where cells are written: the engine's own arrays
// are all memory, of zeros, which take seconds.
#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/tiers/tiers.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

constexpr char kProgram[] = R"(p ():
  in a : f32[16, 64];
  inout x : f32[16, 40000000];
  out y : f32[64, 16];
  out z : f32[3, 16];
  for i0 = 0 to 15 { for i1 = 0 to 63 { x[i0, i1] := a[i0, i1]; } }
  for i2 = 0 to 63 { for i3 = 0 to 15 { y[i2, i3] := x[i3, i2]; } }
  for i4 = 0 to 2 { for i5 = 0 to 15 { z[i4, i5] := x[i5, i4]; } }
)";

constexpr size_t kBytes = size_t{16} * 40'000'000 * sizeof(float);

template <class T>
std::byte* Bytes(std::vector<T>& cells) {
  return reinterpret_cast<std::byte*>(cells.data());
}

TEST(FarLanesTest, AreReached) {
  if (AvailableTiers().size() == 1) GTEST_SKIP() << "needs AVX2";
  std::vector<float> a;
  for (int k = 0; k < 16 * 64; ++k) a.push_back(static_cast<float>(k));
  for (const std::string& tier : AvailableTiers()) {
    if (tier == "interp") continue;  // it has no lanes
    auto executable =
        (*FindTier(tier, {.threads = 1}))->Compile(MustParse(kProgram));
    ASSERT_TRUE(executable.ok()) << executable.status();
    void* const x = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(x, MAP_FAILED);
    std::vector<float> y(64 * 16), z(3 * 16);
    (*executable)
        ->Run({Bytes(a), static_cast<std::byte*>(x), Bytes(y), Bytes(z)}, {});
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 64; ++column) {
        const auto expected = static_cast<float>(64 * row + column);
        ASSERT_EQ(y[16 * column + row], expected) << tier;
        if (column > 2) continue;
        ASSERT_EQ(z[16 * column + row], expected) << tier;
      }
    }
    ASSERT_EQ(munmap(x, kBytes), 0);
  }
}

}  // namespace
}  // namespace ocannl
