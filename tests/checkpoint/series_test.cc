// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/series.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
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
