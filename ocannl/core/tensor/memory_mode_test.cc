// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/memory_mode.h"

#include <array>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::array<MemoryMode, 7> kModes = {
    MemoryMode::kEffectivelyConstant, MemoryMode::kVirtual,
    MemoryMode::kNeverVirtual,        MemoryMode::kLocal,
    MemoryMode::kDeviceOnly,          MemoryMode::kOnDevice,
    MemoryMode::kMaterialized};

struct Row {
  MemoryMode current;
  std::array<const char*, 7> after;  // each request; "": an error
};

// clang-format off
const std::vector<Row> kTable = {
    // effectively_constant, virtual, never_virtual, local, device_only,
    // on_device, materialized
    {MemoryMode::kEffectivelyConstant,
     {"effectively_constant", "virtual", "materialized", "", "",
      "on_device", "materialized"}},
    {MemoryMode::kVirtual,
     {"virtual", "virtual", "", "", "", "", ""}},
    {MemoryMode::kNeverVirtual,
     {"materialized", "", "never_virtual", "local", "device_only",
      "on_device", "materialized"}},
    {MemoryMode::kLocal,
     {"", "", "local", "local", "local", "", ""}},
    {MemoryMode::kDeviceOnly,
     {"", "", "device_only", "local", "device_only", "on_device",
      "on_device"}},
    {MemoryMode::kOnDevice,
     {"", "", "on_device", "", "on_device", "on_device", "on_device"}},
    {MemoryMode::kMaterialized,
     {"materialized", "", "materialized", "", "on_device", "on_device",
      "materialized"}},
};
// clang-format on

TEST(MemoryModeTest, EveryPairOfModes) {
  ASSERT_EQ(kTable.size(), kModes.size());
  for (const Row& row : kTable) {
    for (size_t k = 0; k < kModes.size(); ++k) {
      const std::string pair = std::string(Name(row.current)) + " then " +
                               std::string(Name(kModes[k]));
      auto updated = Update(MemoryRequest{row.current, "the first"},
                            {kModes[k], "the second"});
      if (row.after[k][0] == '\0') {
        ASSERT_FALSE(updated.ok()) << pair;
        EXPECT_THAT(
            std::string(updated.status().message()),
            AllOf(HasSubstr(std::string(Name(row.current)) + " (the first)"),
                  HasSubstr(std::string(Name(kModes[k])) + " (the second)")))
            << pair;
      } else {
        ASSERT_THAT(updated, IsOk()) << pair;
        EXPECT_EQ(Name(updated->mode), row.after[k]) << pair;
      }
    }
  }
}

TEST(MemoryModeTest, TheFirstRequestIsTaken) {
  for (MemoryMode mode : kModes) {
    const MemoryRequest request = {mode, "somebody"};
    auto updated = Update(std::nullopt, request);
    ASSERT_THAT(updated, IsOk());
    EXPECT_EQ(*updated, request);
  }
}

TEST(MemoryModeTest, WhoAsksForWhatHolds) {
  auto why = [](MemoryMode first, MemoryMode second) {
    return Update(MemoryRequest{first, "a"}, {second, "b"})->why;
  };
  EXPECT_EQ(why(MemoryMode::kOnDevice, MemoryMode::kNeverVirtual), "a");
  EXPECT_EQ(why(MemoryMode::kNeverVirtual, MemoryMode::kOnDevice), "b");
  EXPECT_EQ(why(MemoryMode::kLocal, MemoryMode::kLocal), "a");
  EXPECT_EQ(why(MemoryMode::kDeviceOnly, MemoryMode::kMaterialized), "a and b");
}

TEST(MemoryModeTest, AnErrorNamesTheArrayAndChangesNothing) {
  AskedMemory memory =
      AskedBy("Keep", {.file = "a/f.cc", .line = 12}, MemoryMode::kOnDevice);
  const AskedMemory before = memory;
  EXPECT_EQ(UpdateOf("w", {MemoryMode::kVirtual, "a rule"}, memory).message(),
            "the memory mode of `w`: it is on_device (Keep at f.cc:12) and "
            "cannot be virtual (a rule) as well; ask for one of the two");
  EXPECT_EQ(memory, before);
}

TEST(MemoryModeTest, NamesAreFoundAgain) {
  for (MemoryMode mode : kModes) {
    auto found = FindMemoryMode(Name(mode));
    ASSERT_THAT(found, IsOk());
    EXPECT_EQ(*found, mode);
  }
  EXPECT_THAT(std::string(FindMemoryMode("stack").status().message()),
              HasSubstr("`stack` is no memory mode; the modes are "
                        "effectively_constant, virtual, "));
}

}  // namespace
}  // namespace ocannl
