// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/guarded_buffer.h"

#include <cstring>

#include "gtest/gtest.h"
#include "ocannl/fuzz/child.h"

namespace ocannl::fuzz {
namespace {

using Place = GuardedBuffer::Place;

// Sizes below, at and above a page.
constexpr int64_t kSizes[] = {1, 7, 4096, 4097};

NdArray Bytes(int64_t size) { return NdArray(DType::kU8, {size}); }

bool Dies(const GuardedBuffer& buffer, int64_t at, bool writes) {
  return RunInChild(10,
                    [&]() -> std::string {
                      volatile std::byte* cell = buffer.data() + at;
                      std::byte value = *cell;
                      if (writes) *cell = value;
                      return "";
                    })
      .died;
}

TEST(GuardedBufferTest, HoldsTheCells) {
  NdArray cells = NdArray::Of<float>({3}, {1, 2, 3});
  for (Place place : {Place::kStart, Place::kEnd}) {
    GuardedBuffer buffer(cells, place, true);
    EXPECT_EQ(std::memcmp(buffer.data(), cells.data(), cells.bytes()), 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64,
              place == Place::kStart ? 0u : 52u);
  }
}

TEST(GuardedBufferTest, TheGuardedSideFaults) {
  for (int64_t size : kSizes) {
    GuardedBuffer start(Bytes(size), Place::kStart, true);
    EXPECT_TRUE(Dies(start, -1, false));
    EXPECT_FALSE(Dies(start, 0, true));
    EXPECT_FALSE(Dies(start, size - 1, true));
    GuardedBuffer end(Bytes(size), Place::kEnd, true);
    EXPECT_TRUE(Dies(end, size, false));
    EXPECT_FALSE(Dies(end, 0, true));
    EXPECT_FALSE(Dies(end, size - 1, true));
  }
}

TEST(GuardedBufferTest, TheOtherSideHasACanary) {
  for (int64_t size : {1, 7, 4097}) {
    GuardedBuffer start(Bytes(size), Place::kStart, true);
    GuardedBuffer end(Bytes(size), Place::kEnd, true);
    EXPECT_EQ(start.BrokenCanaryBytes(), 0u);
    EXPECT_EQ(end.BrokenCanaryBytes(), 0u);
    std::memset(start.data(), 0, size + 2);
    std::memset(end.data() - 3, 0, size + 3);
    EXPECT_EQ(start.BrokenCanaryBytes(), 2u);
    EXPECT_EQ(end.BrokenCanaryBytes(), 3u);
  }
}

TEST(GuardedBufferTest, WritesFaultWhereNotAllowed) {
  GuardedBuffer buffer(Bytes(7), Place::kEnd, false);
  EXPECT_FALSE(Dies(buffer, 3, false));
  EXPECT_TRUE(Dies(buffer, 3, true));
}

}  // namespace
}  // namespace ocannl::fuzz
