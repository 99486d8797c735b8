// SPDX-License-Identifier: Apache-2.0
//
// Files of data, whole and damaged.
#include "ocannl/train/data/files.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/runtime/npy.h"
#include "tests/support/status_matchers.h"
#include "zlib.h"

namespace ocannl::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string PathOf(const std::string& name, const std::string& bytes) {
  const std::string path = absl::StrCat(testing::TempDir(), "/", name);
  CHECK_OK(WriteFile(path, bytes));
  return path;
}

std::string GzipPathOf(const std::string& name, const std::string& bytes) {
  const std::string path = absl::StrCat(testing::TempDir(), "/", name);
  gzFile file = gzopen(path.c_str(), "wb");
  CHECK_EQ(gzwrite(file, bytes.data(), bytes.size()), bytes.size());
  CHECK_EQ(gzclose(file), Z_OK);
  return path;
}

std::vector<float> Cells(const NdArray& array) {
  const auto values = array.values<float>();
  return {values.begin(), values.end()};
}

TEST(FilesTest, Csv) {
  auto table =
      ParseCsv("\xEF\xBB\xBF# a comment\nx,y\n1,2.5\r\n\n -3 , 4e2\n", "t.csv");
  ASSERT_THAT(table, IsOk());
  EXPECT_EQ(table->dims(), (Dims{2, 2}));
  EXPECT_THAT(Cells(*table), ElementsAre(1, 2.5, -3, 400));
  auto tabs = ParseCsv("1\t2\n3\t4", "t.tsv", '\t');
  ASSERT_THAT(tabs, IsOk());
  EXPECT_THAT(Cells(*tabs), ElementsAre(1, 2, 3, 4));
}

TEST(FilesTest, CsvErrorsNameTheLine) {
  EXPECT_THAT(ParseCsv("x,y\n1,2\n3\n", "t.csv"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("t.csv:3: \"3\"; write 2 numbers, with")));
  EXPECT_THAT(ParseCsv("1,2\nx,y\n", "t.csv"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("t.csv:2: \"x,y\"")));
  EXPECT_THAT(
      ParseCsv("1,?\n", "t.csv"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("t.csv:1:")));
  EXPECT_THAT(ParseCsv("x,y\n", "t.csv"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no rows of numbers")));
}

TEST(FilesTest, Idx) {
  const std::string front("\0\0\x08\x02\0\0\0\x02\0\0\0\x03", 12);
  auto images =
      ParseIdx(front + std::string("\x00\x01\x7f\x80\xfe\xff", 6), "images");
  ASSERT_THAT(images, IsOk());
  EXPECT_EQ(images->dims(), (Dims{2, 3}));
  EXPECT_EQ(images->dtype(), DType::kU8);
  EXPECT_EQ(images->AsDouble(5), 255);
  auto wide = ParseIdx(
      std::string("\0\0\x0b\x01\0\0\0\x02\xff\xfe\x01\x02", 12), "wide");
  ASSERT_THAT(wide, IsOk());
  EXPECT_EQ(wide->AsDouble(0), -2);
  EXPECT_EQ(wide->AsDouble(1), 0x102);
  auto floats =
      ParseIdx(std::string("\0\0\x0d\x01\0\0\0\x01\x3f\xc0\0\0", 12), "floats");
  ASSERT_THAT(floats, IsOk());
  EXPECT_EQ(floats->AsDouble(0), 1.5);
}

TEST(FilesTest, IdxErrors) {
  const std::string front("\0\0\x08\x02\0\0\0\x02\0\0\0\x03", 12);
  for (const auto& [bytes, error] :
       std::vector<std::pair<std::string, std::string>>{
           {"", "does not begin like an IDX file"},
           {std::string("\0\1\x08\x01", 4), "does not begin"},
           {std::string("\0\0\x08\x02\0\0", 6), "ends before its sizes"},
           {front + "12345", "is shorter"},
           {front + "1234567", "has 7 bytes of cells; its sizes say 6"},
           {std::string("\0\0\x08\x02\xff\xff\xff\xff\xff\xff\xff\xff", 12),
            "is shorter than its sizes say"},
           {std::string("\0\0\x07\x01\0\0\0\1x", 9), "unknown type 7"}}) {
    EXPECT_THAT(ParseIdx(bytes, "f"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(error)));
  }
}

TEST(FilesTest, ByTheEndOfTheNameWithGzipOrNot) {
  auto csv = LoadArray(GzipPathOf("a.csv.gz", "1,2\n3,4\n"));
  ASSERT_THAT(csv, IsOk());
  EXPECT_THAT(Cells(*csv), ElementsAre(1, 2, 3, 4));
  const NdArray array = NdArray::Of<float>({3}, {5, 6, 7});
  auto npy = LoadArray(GzipPathOf("a.npy.gz", *FormatNpy(array)));
  ASSERT_THAT(npy, IsOk());
  EXPECT_TRUE(SameBits(*npy, array));
  auto idx =
      LoadArray(PathOf("a-ubyte", std::string("\0\0\x08\x01\0\0\0\1\x09", 9)));
  ASSERT_THAT(idx, IsOk());
  EXPECT_EQ(idx->AsDouble(0), 9);
  EXPECT_THAT(LoadArray(PathOf("a.xls", "1")),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("its name must end in .csv, ")));
  EXPECT_THAT(LoadArray(absl::StrCat(testing::TempDir(), "/none")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(LoadArray(absl::StrCat(testing::TempDir(), "/none.csv")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.csv")));
  EXPECT_THAT(ReadData("/dev/zero"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/dev/zero")));
}

TEST(FilesTest, DamagedGzip) {
  const std::string path = GzipPathOf("b.csv.gz", std::string(1000, '1'));
  std::string bytes = *ReadFile(path);
  EXPECT_THAT(
      ReadData(PathOf("cut.gz", bytes.substr(0, bytes.size() - 4))),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cut.gz")));
  bytes[bytes.size() - 6] ^= 1;  // of the CRC
  EXPECT_THAT(
      ReadData(PathOf("bad.gz", bytes)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bad.gz")));
}

}  // namespace
}  // namespace ocannl::train
