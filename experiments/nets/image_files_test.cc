// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/image_files.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"

namespace ocannl {
namespace {

using testing::HasSubstr;

std::string PathOf(const std::string& name, const std::string& bytes) {
  const std::string path = absl::StrCat(testing::TempDir(), "/", name);
  CHECK_OK(WriteFile(path, bytes));
  return path;
}

TEST(ImageFilesTest, RowsOfCellsAndClass) {
  std::string csv;
  for (int k = 0; k < 8; ++k) {
    absl::StrAppend(&csv, k, ",0,0,", 8 - k, ",", k % 2, "\n");
  }
  auto lessons = LoadImages(PathOf("a.csv", csv), 1);
  ASSERT_TRUE(lessons.ok()) << lessons.status();
  EXPECT_EQ(lessons->classes, 2);
  EXPECT_EQ(lessons->train.inputs.dims(), (Dims{6, 2, 2, 1}));
  EXPECT_EQ(lessons->test.inputs.dims(), (Dims{2, 2, 2, 1}));
  for (const Examples* each : {&lessons->train, &lessons->test}) {
    for (int64_t i = 0; i < each->classes.size(); ++i) {
      const double first = each->inputs.AsDouble(4 * i) * 8;
      EXPECT_EQ(each->inputs.AsDouble(4 * i + 3) * 8, 8 - first);
      EXPECT_EQ(each->classes.AsDouble(i), static_cast<int>(first) % 2);
    }
  }
}

TEST(ImageFilesTest, FilesLikeThoseOfMnist) {
  std::string images("\0\0\x08\x03\0\0\0\x04\0\0\0\x01\0\0\0\x01", 16);
  std::string labels("\0\0\x08\x01\0\0\0\x04", 8);
  const std::string path =
      PathOf("my-images-idx3-ubyte", images + "\x10\x20\x30\x40");
  EXPECT_THAT(LoadImages(path, 1).status().message(),
              HasSubstr("my-labels-idx1-ubyte"));
  PathOf("my-labels-idx1-ubyte", labels + std::string("\0\1\2\3", 4));
  auto lessons = LoadImages(path, 1);
  ASSERT_TRUE(lessons.ok()) << lessons.status();
  EXPECT_EQ(lessons->classes, 4);
  EXPECT_EQ(lessons->train.inputs.AsDouble(0),
            (lessons->train.classes.AsDouble(0) + 1) / 4);
}

TEST(ImageFilesTest, Errors) {
  EXPECT_THAT(LoadImages("nofile", 1).status().message(),
              HasSubstr("No such file"));
  EXPECT_EQ(LoadImages(PathOf("a.xls", "1"), 1).status().message(),
            PathOf("a.xls", "1") +
                ": its name must end in .npz, .csv, .tsv, "
                ".npy, .idx or -ubyte");
  EXPECT_THAT(
      LoadImages(PathOf("b.csv", "1,2,3,0\n1,2,3,1\n"), 1).status().message(),
      HasSubstr("images of 3 cells; they must be square"));
  EXPECT_THAT(LoadImages(PathOf("c.csv", "1,0.5\n"), 1).status().message(),
              HasSubstr("image 0 has the class 0.5"));
  EXPECT_THAT(LoadImages(PathOf("d.csv", "1,0\n"), 1).status().message(),
              HasSubstr("too few"));
}

}  // namespace
}  // namespace ocannl
