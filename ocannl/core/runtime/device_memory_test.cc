// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/device_memory.h"

#include <algorithm>
#include <cstdint>

#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

TEST(DeviceMemoryTest, IsAlignedAndZeroed) {
  for (size_t bytes : {0, 1, 64, 65, 1 << 20, (1 << 21) + 1}) {
    absl::StatusOr<DeviceMemory> memory = DeviceMemory::Allocate(bytes);
    ASSERT_THAT(memory, IsOk());
    ASSERT_NE(memory->address(), nullptr);
    EXPECT_EQ(memory->size(), bytes);
    auto address = reinterpret_cast<uintptr_t>(memory->address());
    EXPECT_EQ(address % (bytes < 1 << 20 ? 64 : 1 << 21), 0u) << bytes;
    EXPECT_TRUE(std::all_of(memory->address(), memory->address() + bytes,
                            [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(DeviceMemoryTest, TooMuchIsAnError) {
  for (size_t bytes : {SIZE_MAX, SIZE_MAX - 63, size_t{1} << 60}) {
    EXPECT_THAT(DeviceMemory::Allocate(bytes),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         testing::HasSubstr("use smaller arrays")));
  }
}

// Memory that only copies reach, with an error after `copies` of them.
class Remote : public MemorySpace {
 public:
  absl::string_view name() const override { return "remote"; }
  absl::StatusOr<std::byte*> Allocate(size_t bytes) const override {
    return HostMemory().Allocate(bytes);
  }
  void Free(std::byte* address) const override { HostMemory().Free(address); }
  absl::Status Copy(const std::byte* from, size_t bytes, std::byte* to,
                    CopyKind kind) const override {
    if (copies-- == 0) return absl::InternalError("remote is gone");
    return HostMemory().Copy(from, bytes, to, kind);
  }

  mutable int copies = 100;
};

TEST(DeviceMemoryTest, CopiesBetweenAnyTwoSpaces) {
  const Remote one;
  const Remote two;
  const auto word = [](const DeviceMemory& memory) {
    int value = 0;
    EXPECT_THAT(memory.CopyOut(reinterpret_cast<std::byte*>(&value)), IsOk());
    return value;
  };
  const MemorySpace* spaces[] = {&HostMemory(), &one, &two};
  int next = 7;
  for (const MemorySpace* a : spaces) {
    for (const MemorySpace* b : spaces) {
      const auto from = DeviceMemory::Allocate(sizeof(int), *a);
      const auto to = DeviceMemory::Allocate(sizeof(int), *b);
      ASSERT_THAT(from, IsOk());
      ASSERT_THAT(to, IsOk());
      ++next;
      ASSERT_THAT(from->CopyIn(reinterpret_cast<std::byte*>(&next)), IsOk());
      ASSERT_THAT(to->CopyFrom(*from), IsOk());
      EXPECT_EQ(word(*to), next) << a->name() << " to " << b->name();
    }
  }
}

TEST(DeviceMemoryTest, ACopyThatFailsIsAnError) {
  const Remote one;
  const Remote two;
  const auto from = DeviceMemory::Allocate(4, one);
  const auto to = DeviceMemory::Allocate(4, two);
  one.copies = 0;
  EXPECT_THAT(to->CopyFrom(*from), StatusIs(absl::StatusCode::kInternal));
  one.copies = 1;
  two.copies = 0;
  EXPECT_THAT(to->CopyFrom(*from), StatusIs(absl::StatusCode::kInternal));
}

}  // namespace
}  // namespace ocannl
