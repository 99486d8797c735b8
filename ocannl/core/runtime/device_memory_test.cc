// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/aligned_memory.h"

#include <algorithm>
#include <cstdint>

#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace ocannl {
namespace {

TEST(AlignedMemoryTest, IsAlignedAndZeroed) {
  for (size_t bytes : {0, 1, 64, 65, 1 << 20, (1 << 21) + 1}) {
    absl::StatusOr<AlignedMemory> memory = AlignedMemory::Allocate(bytes);
    ASSERT_THAT(memory, IsOk());
    ASSERT_NE(memory->data(), nullptr);
    EXPECT_EQ(memory->size(), bytes);
    auto address = reinterpret_cast<uintptr_t>(memory->data());
    EXPECT_EQ(address % (bytes < 1 << 20 ? 64 : 1 << 21), 0u) << bytes;
    EXPECT_TRUE(std::all_of(memory->data(), memory->data() + bytes,
                            [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(AlignedMemoryTest, TooMuchIsAnError) {
  for (size_t bytes : {SIZE_MAX, SIZE_MAX - 63, size_t{1} << 60}) {
    EXPECT_THAT(AlignedMemory::Allocate(bytes),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         testing::HasSubstr("use smaller arrays")));
  }
}

}  // namespace
}  // namespace ocannl
