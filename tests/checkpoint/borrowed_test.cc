// SPDX-License-Identifier: Apache-2.0
//
// Files of others: names of their own, more arrays than one wants, or fewer.
#include <optional>
#include <string>
#include <utility>
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
using testing::UnorderedElementsAre;
using train::ArrayEntry;
using train::ListArrays;
using train::LoadArrays;
using train::NamedArray;
using train::RestoreOptions;
using train::RestoreParams;
using train::SaveParams;

NamedArray Floats(const std::string& name, std::vector<float> values) {
  return {name, NdArray::Of<float>({int64_t(values.size())}, values)};
}

class BorrowedTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::vector<NamedArray> saved = {
        Floats("fc.weight", {1, 2}),
        Floats("fc.bias", {3}),
        {"steps", NdArray::Of<int32_t>({}, {7})}};
    CHECK_OK(SaveParams(path_, ArraysOf(saved), Place(saved).context));
  }

  // What restoring does to an array `w` of two cells and `b` of one.
  absl::Status Restore(const RestoreOptions& options) {
    return RestoreParams(path_, ArraysOf(ours_), place_.context, options);
  }
  std::vector<double> Values() {
    const NdArray w = *place_.context.Read("w");
    return {w.AsDouble(0), w.AsDouble(1),
            place_.context.Read("b")->AsDouble(0)};
  }

  std::string path_ = absl::StrCat(NewFolder("borrowed"), "/m", GetParam());
  std::vector<NamedArray> ours_ = {Floats("w", {-1, -1}), Floats("b", {-1})};
  Place place_{ours_};
};

INSTANTIATE_TEST_SUITE_P(All, BorrowedTest,
                         testing::Values(".npz", ".safetensors"),
                         [](const auto& test) { return test.param.substr(1); });

TEST_P(BorrowedTest, NamesAreThoseOfTheFile) {
  ASSERT_THAT(Restore({.names = {{"w", "fc.weight"}, {"b", "fc.bias"}},
                       .allow_extra = true}),
              IsOk());
  EXPECT_THAT(Values(), ElementsAre(1, 2, 3));
}

TEST_P(BorrowedTest, WhatTheFileLacksStaysIfAllowed) {
  RestoreOptions options = {.names = {{"b", "fc.bias"}}, .allow_extra = true};
  EXPECT_THAT(Restore(options).message(), HasSubstr("it has no `w`"));
  EXPECT_THAT(Values(), ElementsAre(-1, -1, -1));
  options.allow_missing = true;
  ASSERT_THAT(Restore(options), IsOk());
  EXPECT_THAT(Values(), ElementsAre(-1, -1, 3));
  options.names.clear();
  EXPECT_THAT(Restore(options).message(),
              HasSubstr("it has no `w`, and none of the others; see what it "
                        "has by ListArrays"));
}

TEST_P(BorrowedTest, OtherArraysNeedToBeAllowed) {
  EXPECT_THAT(
      Restore({.names = {{"w", "fc.weight"}, {"b", "fc.bias"}}}).message(),
      HasSubstr("it has `steps`, which nobody asks for"));
  EXPECT_THAT(Values(), ElementsAre(-1, -1, -1));
}

TEST_P(BorrowedTest, WrongNamesAreTold) {
  EXPECT_THAT(Restore({.names = {{"v", "fc.weight"}}}).message(),
              HasSubstr("`fc.weight` is to be `v`, which is none of the "
                        "arrays"));
  EXPECT_THAT(
      Restore({.names = {{"w", "fc.bias"}, {"b", "fc.bias"}}}).message(),
      HasSubstr("`fc.bias` is given twice, for `"));
  EXPECT_THAT(Restore({.names = {{"w", "fc.bias"}, {"b", "fc.weight"}},
                       .allow_extra = true})
                  .message(),
              HasSubstr("`fc.bias` is f32[1], not f32[2]: the shape differs"));
}

TEST_P(BorrowedTest, ListsAndLoadsWhatIsThere) {
  absl::StatusOr<std::vector<ArrayEntry>> entries = ListArrays(path_);
  ASSERT_THAT(entries, IsOk());
  EXPECT_THAT(*entries,
              UnorderedElementsAre(ArrayEntry{"fc.weight", DType::kF32, {2}},
                                   ArrayEntry{"fc.bias", DType::kF32, {1}},
                                   ArrayEntry{"steps", DType::kI32, {}}));
  absl::StatusOr<std::vector<NdArray>> loaded =
      LoadArrays(path_, {"steps", "fc.weight"});
  ASSERT_THAT(loaded, IsOk());
  EXPECT_TRUE(SameBits((*loaded)[0], NdArray::Of<int32_t>({}, {7})));
  EXPECT_TRUE(SameBits((*loaded)[1], NdArray::Of<float>({2}, {1, 2})));
  EXPECT_THAT(LoadArrays(path_, {"labels"}).status().message(),
              testing::AllOf(HasSubstr("it has no `labels`; it has `"),
                             HasSubstr("`fc.bias`")));
  EXPECT_THAT(LoadArrays(path_, {"steps", "steps"}).status().message(),
              HasSubstr("`steps` is given twice"));
  EXPECT_THAT(ListArrays(absl::StrCat(path_, ".gz")).status().message(),
              HasSubstr("must end in .npz or .safetensors"));
}

// A dtype that is not ours spoils only what asks for it.
TEST(UnknownDTypeTest, OfSafetensorsIsListed) {
  const std::string header =
      R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
      R"("n":{"dtype":"I16","shape":[1,2],"data_offsets":[4,8]}})";
  std::string text(8, '\0');
  text[0] = static_cast<char>(header.size());
  const std::string path = absl::StrCat(NewFolder("dtype"), "/m.safetensors");
  CHECK_OK(WriteFile(path, absl::StrCat(text, header, std::string(8, '\0'))));
  EXPECT_THAT(*ListArrays(path),
              ElementsAre(ArrayEntry{"w", DType::kF32, {1}},
                          ArrayEntry{"n", std::nullopt, {1, 2}}));
  EXPECT_THAT(LoadArrays(path, {"w"}), IsOk());
  EXPECT_THAT(LoadArrays(path, {"n"}).status().message(),
              HasSubstr("`n` has a dtype other than"));
}

}  // namespace
}  // namespace ocannl
