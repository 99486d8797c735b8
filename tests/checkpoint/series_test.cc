// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/series.h"

#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "tests/checkpoint/samples.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using train::CheckpointSeries;

std::vector<train::NamedArray> Cell(float value) {
  return {{"x", NdArray::Of<float>({1}, {value})}};
}

TEST(CheckpointSeriesTest, TheLatestIsRestoredAndFewStay) {
  const std::string folder = absl::StrCat(NewFolder("series"), "/new");
  auto series = CheckpointSeries::Open(folder, 2);
  ASSERT_THAT(series, IsOk());
  const Place empty;
  EXPECT_THAT(series->Restore(ArraysOf(Cell(0)), empty.context),
              IsOkAndHolds(0));
  for (const int64_t steps : {5, 90, 1000, 1200}) {
    const Place place(Cell(static_cast<float>(steps)));
    ASSERT_THAT(series->Save(steps, ArraysOf(Cell(0)), place.context), IsOk());
  }
  EXPECT_THAT(series->Steps(), IsOkAndHolds(ElementsAre(1000, 1200)));
  // A run that begins anew would lose what is there.
  const Place anew(Cell(3));
  EXPECT_THAT(
      std::string(series->Save(100, ArraysOf(Cell(0)), anew.context).message()),
      HasSubstr("has a checkpoint of step 1200, and step 100"));
  // Files of others are left alone.
  CHECK_OK(WriteFile(absl::StrCat(folder, "/step_9999.npz"), "mine"));
  auto again = CheckpointSeries::Open(folder, 2);
  ASSERT_THAT(again, IsOk());
  const Place place;
  EXPECT_THAT(again->Restore(ArraysOf(Cell(0)), place.context),
              IsOkAndHolds(1200));
  EXPECT_EQ(place.context.Read("x")->AsDouble(0), 1200);
}

// Ways in which a checkpoint of 4 cells is no more what was saved.
struct Damage {
  std::string name;
  std::function<void(const std::string& path)> apply;
};
std::vector<Damage> Damages() {
  auto changed = [](auto change) {
    return [change](const std::string& path) {
      auto bytes = ReadFile(path);
      CHECK_OK(bytes);
      change(*bytes);
      CHECK_OK(WriteFile(path, *bytes));
    };
  };
  auto crc = [](std::string& bytes, const char* header, size_t place) {
    const size_t at = bytes.find(header);
    CHECK(at != std::string::npos);
    bytes.replace(at + place, 4, 4, '\0');
  };
  std::vector<Damage> all = {
      {"empty", changed([](std::string& bytes) { bytes.clear(); })},
      {"half",
       changed([](std::string& bytes) { bytes.resize(bytes.size() / 2); })},
      {"without its last byte",
       changed([](std::string& bytes) { bytes.pop_back(); })},
      {"zeros",
       changed([](std::string& bytes) { bytes.assign(bytes.size(), '\0'); })},
      {"another cell", changed([](std::string& bytes) {
         const size_t at = bytes.find("\x93NUMPY");
         bytes[bytes.find('\n', at) + 3] ^= 1;
       })},
      {"another shape",
       changed([](std::string& bytes) { ++bytes[bytes.find("(4,") + 1]; })},
      {"no CRC", changed([crc](std::string& bytes) {
         crc(bytes, "PK\x03\x04", 14);
         crc(bytes, "PK\x01\x02", 16);
       })},
      {"no archive", changed([](std::string& bytes) { bytes = "damaged"; })},
      {"a directory",
       [](const std::string& path) {
         std::filesystem::remove(path);
         CHECK_OK(MakeDirectory(path + "/inside"));
       }},
      {"a link to nothing", [](const std::string& path) {
         std::filesystem::remove(path);
         std::filesystem::create_symlink("nothing", path);
       }}};
  return all;
}

std::vector<train::NamedArray> FourCells(float value) {
  return {{"x", NdArray::Of<float>({4}, std::vector<float>(4, value))}};
}

// Saves steps 10, 20 and 30 with these values in a new folder.
CheckpointSeries SaveThree(const std::string& folder) {
  auto series = CheckpointSeries::Open(folder, 3);
  CHECK_OK(series);
  for (const int64_t steps : {10, 20, 30}) {
    const Place place(FourCells(static_cast<float>(steps)));
    CHECK_OK(series->Save(steps, ArraysOf(FourCells(0)), place.context));
  }
  return *series;
}

TEST(CheckpointSeriesTest, GoesOnFromTheLatestThatIsWhole) {
  for (const Damage& damage : Damages()) {
    SCOPED_TRACE(damage.name);
    const CheckpointSeries series = SaveThree(NewFolder("series_damage"));
    const std::vector<Array> arrays = ArraysOf(FourCells(0));
    damage.apply(series.PathOf(30));
    const Place place;
    std::ostringstream said;
    auto restore = [&](const std::string& path) {
      return train::RestoreParams(path, arrays, place.context);
    };
    EXPECT_THAT(series.RestoreWith(restore, said), IsOkAndHolds(20));
    EXPECT_THAT(said.str(), HasSubstr("step 30 is damaged and now called"));
    EXPECT_EQ(place.context.Read("x")->AsDouble(3), 20);
    // The run reaches step 30 again, and step 20 is damaged too.
    EXPECT_THAT(series.Save(30, arrays, place.context), IsOk());
    EXPECT_THAT(series.Steps(), IsOkAndHolds(ElementsAre(10, 20, 30)));
    damage.apply(series.PathOf(20));
    std::filesystem::remove_all(series.PathOf(30) + ".damaged");
    damage.apply(series.PathOf(30));
    EXPECT_THAT(series.Restore(arrays, place.context), IsOkAndHolds(10));
    EXPECT_THAT(series.Steps(), IsOkAndHolds(ElementsAre(10)));
    EXPECT_EQ(place.context.Read("x")->AsDouble(3), 10);
  }
}

TEST(CheckpointSeriesTest, OnlyDamageIsPassedOver) {
  const CheckpointSeries series = SaveThree(NewFolder("series_whole"));
  const Place place;
  // That of another network.
  EXPECT_THAT(series.Restore(ArraysOf(Cell(0)), place.context),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("step_000000000030.npz")));
  for (int64_t steps : {10, 20, 30}) {
    CHECK_OK(WriteFile(series.PathOf(steps), "damaged"));
  }
  EXPECT_THAT(
      series.Restore(ArraysOf(FourCells(0)), place.context),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("all checkpoints of ")));
  EXPECT_THAT(series.Steps(), IsOkAndHolds(ElementsAre(10, 20, 30)));
  EXPECT_TRUE(place.context.ArrayNames().empty());
}

TEST(CheckpointSeriesTest, Errors) {
  EXPECT_EQ(CheckpointSeries::Open("anywhere", 0).status().message(),
            "0 checkpoints are to be kept; keep 1 at least");
  const std::string folder = NewFolder("series_errors");
  CHECK_OK(WriteFile(absl::StrCat(folder, "/file"), ""));
  EXPECT_THAT(
      std::string(CheckpointSeries::Open(absl::StrCat(folder, "/file"), 1)
                      .status()
                      .message()),
      HasSubstr("/file"));
  CHECK_OK(
      WriteFile(absl::StrCat(folder, "/step_000000000007.npz"), "damaged"));
  auto series = CheckpointSeries::Open(folder, 1);
  ASSERT_THAT(series, IsOk());
  const Place place;
  EXPECT_FALSE(series->Restore(ArraysOf(Cell(0)), place.context).ok());
}

}  // namespace
}  // namespace ocannl
