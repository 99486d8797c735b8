// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/npy.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/runtime/npy_header.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A file as numpy.save would write it, with any header.
std::string File(int version, absl::string_view header,
                 absl::string_view numbers) {
  std::string length;
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    length.push_back(static_cast<char>(header.size() >> (8 * i)));
  }
  return absl::StrCat("\x93NUMPY", std::string(1, static_cast<char>(version)),
                      std::string(1, '\0'), length, header, numbers);
}

std::string Numbers(const NdArray& array) {
  return std::string(reinterpret_cast<const char*>(array.data()),
                     array.bytes());
}

std::vector<NdArray> Samples() {
  return {NdArray::Of<bool>({3}, {true, false, true}),
          NdArray::Of<uint8_t>({2, 2}, {1, 2, 3, 255}),
          NdArray::Of<uint16_t>({3}, {1, 256, 65535}),
          NdArray::Of<int32_t>({1, 2}, {-1, 7}),
          NdArray::Of<uint32_t>({2}, {1, 4'000'000'000u}),
          NdArray::Of<int64_t>({}, {int64_t{-1} << 62}),
          NdArray::Of<uint64_t>({1}, {~uint64_t{0}}),
          NdArray::Of<BF16>({2}, {BF16::Round(0.1), BF16{0xff81}}),
          NdArray::Of<F8E4M3>({2}, {F8E4M3::Round(0.1), F8E4M3{0xff}}),
          NdArray::Of<F8E5M2>({2}, {F8E5M2::Round(0.1), F8E5M2{0xfd}}),
          NdArray::Of<F16>({2}, {F16::Round(0.1), F16{0xfc00}}),
          NdArray::Of<float>({2, 1, 3}, {0, 1, 2, 3, 4, -5.5}),
          NdArray::Of<double>({0, 3}, {})};
}

TEST(NpyTest, ReadsWhatItWrites) {
  for (const NdArray& array : Samples()) {
    std::string path = absl::StrCat(testing::TempDir(), "/sample.npy");
    ASSERT_THAT(WriteNpy(path, array), IsOk());
    absl::StatusOr<NdArray> read = ReadNpy(path);
    ASSERT_THAT(read, IsOk());
    EXPECT_TRUE(SameBits(*read, array)) << Name(array.dtype());
  }
}

TEST(NpyTest, WritesWhatNumPyWrites) {
  // numpy.save of numpy.array([[1, 2]], '<f4').
  std::string expected =
      File(1,
           absl::StrCat("{'descr': '<f4', 'fortran_order': False, "
                        "'shape': (1, 2), }",
                        std::string(58, ' '), "\n"),
           std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  EXPECT_THAT(FormatNpy(NdArray::Of<float>({1, 2}, {1, 2})),
              IsOkAndHolds(expected));
  EXPECT_EQ(expected.size(), 128u + 8);
}

TEST(NpyTest, HeadersRoundTrip) {
  for (const Dims& dims : {Dims{}, Dims{5}, Dims{2, 3}}) {
    for (bool fortran : {false, true}) {
      NpyHeader header{DType::kU8, dims, fortran};
      EXPECT_THAT(ParseNpyHeader(Format(header)), IsOkAndHolds(header));
    }
  }
}

TEST(NpyTest, ReadsFortranOrderAndVersion2) {
  NdArray columns = NdArray::Of<int32_t>({6}, {0, 3, 1, 4, 2, 5});
  absl::StatusOr<NdArray> read = ParseNpy(
      File(2, "{'shape':(2,3),\"descr\":\"<i4\",'fortran_order':True}\n",
           Numbers(columns)),
      "a.npy");
  ASSERT_THAT(read, IsOk());
  EXPECT_THAT(read->dims(), ElementsAre(2, 3));
  EXPECT_THAT(read->values<int32_t>(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(NpyTest, BoolsBecomeZeroOrOne) {
  absl::StatusOr<NdArray> read = ParseNpy(
      File(1, Format({DType::kBool, {3}, false}), std::string("\0\x01\x80", 3)),
      "a.npy");
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(std::to_integer<int>(read->data()[2]), 1);
}

TEST(NpyTest, ErrorsNameFileThingAndMend) {
  auto error = [](absl::string_view header, absl::string_view numbers = "") {
    return ParseNpy(File(1, header, numbers), "a.npy").status();
  };
  auto fails = [](absl::string_view part) {
    return StatusIs(
        StatusCode::kInvalidArgument,
        AllOf(HasSubstr("`a.npy`: "), HasSubstr(part), HasSubstr("sav")));
  };
  EXPECT_THAT(ParseNpy("", "a.npy"), fails("the file is empty"));
  EXPECT_THAT(ParseNpy("PK\3\4", "a.npy"), fails("no .npy file"));
  EXPECT_THAT(ParseNpy(File(3, "{}", ""), "a.npy"), fails("version 3.0"));
  EXPECT_THAT(ParseNpy(File(2, std::string(70000, ' '), ""), "a.npy"),
              fails("70000 bytes is longer than 65535"));
  EXPECT_THAT(error("{}"), fails("has no 'descr'"));
  EXPECT_THAT(error("{'descr': '>f4', 'fortran_order': False, 'shape': ()}"),
              fails("big-endian"));
  EXPECT_THAT(error("{'descr': '<c8'}"),
              fails("of type '<c8', not one of '|b1' '|u1'"));
  EXPECT_THAT(error("{'descr': [('x', '<f4')]}"), fails("where a string"));
  EXPECT_THAT(error("{'fortran_order': 0}"), fails("True or False"));
  EXPECT_THAT(error("{'shape': (-1,)}"), fails("an axis length"));
  EXPECT_THAT(error("{'shape': (9223372036854775808,)}"),
              fails("an axis length below 2^63"));
  EXPECT_THAT(error("{'shape': (1, 2"), fails("where ')' should be"));
  EXPECT_THAT(error(absl::StrCat("{'shape': (", std::string(66, '1'), ")}")),
              fails("an axis length"));
  std::string ones;
  for (int i = 0; i < 33; ++i) ones += "1,";
  EXPECT_THAT(error(absl::StrCat("{'shape': (", ones, ")}")),
              fails("more than 32 axes"));
  EXPECT_THAT(error("{'shape': (), 'shape': ()}"), fails("two 'shape'"));
  EXPECT_THAT(error("{'color': 1}"), fails("unknown key 'color'"));
  EXPECT_THAT(error("{'shape': ()} x"), fails("where the end should be"));
  std::string two = Format({DType::kF32, {2}, false});
  EXPECT_THAT(error(two, "1234567"), fails("promises f32[2], 8 bytes, but 7"));
  EXPECT_THAT(error(two, "123456789"), fails("but 9 bytes follow"));
  int64_t big = int64_t{1} << 40;
  EXPECT_THAT(
      ParseNpy(File(1, Format({DType::kF32, {big}, false}), ""), "a.npy"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("but 0 bytes follow")));
  EXPECT_THAT(ParseNpy(File(1, Format({DType::kF32, {big, big, 0}, false}), ""),
                       "a.npy"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("2^62")));
}

TEST(NpyTest, FilesMustBeThere) {
  std::string folder = testing::TempDir();
  EXPECT_THAT(ReadNpy(absl::StrCat(folder, "/none.npy")),
              StatusIs(StatusCode::kNotFound, HasSubstr("none.npy")));
  EXPECT_THAT(ReadNpy(folder), StatusIs(StatusCode::kNotFound,
                                        HasSubstr("not an ordinary file")));
  EXPECT_THAT(ReadNpy("/dev/zero"), StatusIs(StatusCode::kNotFound));
  NdArray one = NdArray::Of<float>({}, {1});
  EXPECT_THAT(WriteNpy(absl::StrCat(folder, "/none/x.npy"), one),
              StatusIs(StatusCode::kNotFound, HasSubstr("none/x.npy")));
  EXPECT_THAT(WriteNpy("/dev/full", one),
              StatusIs(StatusCode::kResourceExhausted));
  EXPECT_THAT(FormatNpy(NdArray(DType::kF32, Dims(33, 1))),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("32 axes")));
}

// Whatever the bytes are, the result is an error or an array that can be
// written and read again.
void CheckHostile(absl::string_view bytes, int* arrays) {
  absl::StatusOr<NdArray> array = ParseNpy(bytes, "hostile.npy");
  if (!array.ok()) {
    EXPECT_THAT(array.status().message(), HasSubstr("`hostile.npy`: "));
    return;
  }
  ++*arrays;
  EXPECT_LE(array->bytes(), bytes.size());
  absl::StatusOr<std::string> again = FormatNpy(*array);
  ASSERT_THAT(again, IsOk());
  absl::StatusOr<NdArray> read = ParseNpy(*again, "again.npy");
  ASSERT_THAT(read, IsOk());
  EXPECT_TRUE(SameBits(*read, *array));
}

TEST(NpyTest, EveryTruncationIsAnError) {
  for (const NdArray& array : Samples()) {
    std::string bytes = *FormatNpy(array);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(ParseNpy(bytes.substr(0, size), "cut.npy").ok()) << size;
    }
  }
}

TEST(NpyTest, EveryBitFlipIsAnErrorOrAnArray) {
  std::vector<std::string> files;
  for (const NdArray& array : Samples()) files.push_back(*FormatNpy(array));
  NdArray columns = NdArray::Of<float>({12}, std::vector<float>(12, 1));
  files.push_back(
      File(2, Format({DType::kF32, {2, 2, 3}, true}), Numbers(columns)));
  int flips = 0;
  int arrays = 0;
  for (std::string& bytes : files) {
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      char& byte = bytes[bit / 8];
      byte = static_cast<char>(byte ^ (1 << bit % 8));
      CheckHostile(bytes, &arrays);
      byte = static_cast<char>(byte ^ (1 << bit % 8));
      ++flips;
    }
  }
  std::printf("%d flips, %d of them gave arrays\n", flips, arrays);
  EXPECT_GT(arrays, 0);
  EXPECT_LT(arrays, flips / 2);
}

}  // namespace
}  // namespace ocannl
