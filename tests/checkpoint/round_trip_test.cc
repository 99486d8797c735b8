// SPDX-License-Identifier: Apache-2.0
//
// What is saved comes back to the bit, or an error says by name why not.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/graph/model.h"
#include "tests/checkpoint/samples.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using train::NamedArray;
using train::RestoreParams;
using train::SaveParams;

NamedArray Floats(const std::string& name, Dims dims, float value) {
  const std::vector<float> values(NumElements(dims), value);
  return {name, NdArray::Of<float>(std::move(dims), values)};
}

class CheckpointTest : public testing::TestWithParam<std::string> {
 protected:
  std::string PathOf(const std::string& name) {
    return absl::StrCat(folder_, "/", name, GetParam());
  }

  // Saves `saved`; what RestoreParams says to someone who asks for `asked`,
  // whose values must stay.
  std::string Error(const std::vector<NamedArray>& saved,
                    const std::vector<NamedArray>& asked) {
    const std::string path = PathOf("error");
    CHECK_OK(SaveParams(path, ArraysOf(saved), Place(saved).context));
    const Place place(asked);
    const std::string before = Contents(place.context);
    absl::Status status = RestoreParams(path, ArraysOf(asked), place.context);
    EXPECT_TRUE(Contents(place.context) == before) << status;
    return std::string(status.message());
  }

  std::string folder_ = NewFolder("round_trip");
};

INSTANTIATE_TEST_SUITE_P(All, CheckpointTest,
                         testing::Values(".npz", ".safetensors"),
                         [](const auto& test) { return test.param.substr(1); });

TEST_P(CheckpointTest, EveryBitOfEveryDTypeComesBack) {
  const std::vector<NamedArray> values = SampleArrays(1);
  const Place saved(values);
  const std::string path = PathOf("m");
  ASSERT_THAT(SaveParams(path, ArraysOf(values), saved.context), IsOk());
  const Place empty;
  ASSERT_THAT(RestoreParams(path, ArraysOf(values), empty.context), IsOk());
  EXPECT_TRUE(Contents(empty.context) == Contents(saved.context));
  const Place other(SampleArrays(2));
  ASSERT_FALSE(Contents(other.context) == Contents(saved.context));
  ASSERT_THAT(RestoreParams(path, ArraysOf(values), other.context), IsOk());
  EXPECT_TRUE(Contents(other.context) == Contents(saved.context));
  const std::string again = PathOf("again");
  ASSERT_THAT(SaveParams(again, ArraysOf(values), other.context), IsOk());
  EXPECT_TRUE(*ReadFile(again) == *ReadFile(path));
}

TEST_P(CheckpointTest, ThePreviousFileStays) {
  const std::string path = PathOf("m");
  for (float k : {1, 2, 3}) {
    const std::vector<NamedArray> w = {Floats("w", {2}, k)};
    ASSERT_THAT(SaveParams(path, ArraysOf(w), Place(w).context), IsOk());
    const Place place;
    for (const auto& [name, value] :
         {std::pair("m", k), std::pair("m.previous", k - 1)}) {
      if (value == 0) continue;
      ASSERT_THAT(RestoreParams(PathOf(name), ArraysOf(w), place.context),
                  IsOk());
      EXPECT_EQ(place.context.Read("w")->AsDouble(1), value);
    }
  }
  const std::filesystem::directory_iterator left(folder_);
  EXPECT_EQ(std::distance(begin(left), end(left)), 2);
}

TEST_P(CheckpointTest, ErrorsNameWhatDiffers) {
  const NamedArray v = Floats("v", {2}, 1);
  const NamedArray w = Floats("w", {2, 3}, 1);
  const std::string at = absl::StrCat("`", PathOf("error"), "`: ");
  const std::string missing = at +
                              "it has no `w`; it has v; give "
                              "RestoreOptions::names where arrays have other "
                              "names there";
  EXPECT_EQ(Error({v}, {v, w}), missing);
  EXPECT_EQ(Error({v}, {w}), missing);
  EXPECT_EQ(Error({v, w}, {v}),
            at + "it has `w`, which nobody asks for; ask for all that was "
                 "saved");
  const std::string differs = " differs; use the model that it belongs to";
  EXPECT_EQ(Error({w}, {Floats("w", {3, 2}, 1)}),
            at + "`w` is f32[2, 3], not f32[3, 2]: the shape" + differs);
  EXPECT_EQ(Error({v, w}, {v, Floats("w", {2}, 1)}),
            at + "`w` is f32[2, 3], not f32[2]: the shape" + differs);
  const std::string converts =
      " differs; set RestoreOptions::convert, or use the model that it belongs "
      "to";
  for (DType dtype : {DType::kF64, DType::kI32, DType::kBF16}) {
    EXPECT_EQ(Error({w}, {{"w", NdArray(dtype, {2, 3})}}),
              at + "`w` is f32[2, 3], not " + std::string(Name(dtype)) +
                  "[2, 3]: the precision" +
                  (dtype == DType::kI32 ? differs : converts));
  }
  EXPECT_EQ(Error({{"w", NdArray(DType::kF8E4M3, {2})}},
                  {{"w", NdArray(DType::kF8E5M2, {2})}}),
            at + "`w` is f8e4m3[2], not f8e5m2[2]: the precision" + converts);
}

TEST_P(CheckpointTest, ErrorsOfSavingLeaveTheFile) {
  const std::string path = PathOf("m");
  const std::vector<NamedArray> values = {Floats("v", {2}, 1),
                                          Floats("w", {2}, 2)};
  const Place place(values);
  ASSERT_THAT(SaveParams(path, ArraysOf(values), place.context), IsOk());
  const std::string before = *ReadFile(path);
  auto error = [&](const std::vector<NamedArray>& asked) {
    absl::Status status = SaveParams(path, ArraysOf(asked), place.context);
    EXPECT_TRUE(*ReadFile(path) == before);
    return std::string(status.message());
  };
  const std::string at = absl::StrCat("`", path, "`: ");
  EXPECT_EQ(error({}), at + "there is nothing to save or restore");
  EXPECT_EQ(error({values[0], values[0]}), at + "`v` is given twice");
  EXPECT_EQ(error({{"\xc3\xa9", NdArray()}}),
            at + "the name `\\xc3\\xa9` is not of printable ASCII; rename the "
                 "tensor");
  EXPECT_EQ(error({Floats("u", {2}, 1)}),
            "the context has no array `u`; it has: v, w");
  EXPECT_THAT(error({Floats("w", {3}, 1)}), HasSubstr("f32[2], not f32[3]"));
  EXPECT_EQ(RestoreParams(path, ArraysOf({values[0], values[0]}), place.context)
                .message(),
            at + "`v` is given twice");
}

TEST_P(CheckpointTest, FilesMustBeThere) {
  const std::vector<NamedArray> w = {Floats("w", {2}, 1)};
  const Place place(w);
  EXPECT_THAT(RestoreParams(PathOf("none"), ArraysOf(w), place.context),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(PathOf("none")), HasSubstr("No such"))));
  CHECK_OK(MakeDirectory(PathOf("folder")));
  EXPECT_THAT(
      RestoreParams(PathOf("folder"), ArraysOf(w), place.context),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("not an ordinary file")));
  EXPECT_THAT(SaveParams(PathOf("none/m"), ArraysOf(w), place.context),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none/m")));
}

TEST(CheckpointFormatTest, TheNameSaysWhich) {
  const std::vector<NamedArray> w = {Floats("w", {2}, 1)};
  for (const std::string path : {"m.npy", "m", "m.npz.1", ".npz"}) {
    const std::string message =
        absl::StrCat("`", path, "`: its name must end in .npz or .safetensors");
    EXPECT_EQ(train::CheckSavable(path).message(), message);
    EXPECT_EQ(SaveParams(path, ArraysOf(w), Place(w).context).message(),
              message);
    EXPECT_EQ(RestoreParams(path, ArraysOf(w), Place(w).context).message(),
              message);
  }
}

TEST(CheckpointFormatTest, FoldersThatAreNotThereAreNamed) {
  const std::string path = testing::TempDir() + "/not_there/m.npz";
  EXPECT_EQ(train::CheckSavable(path).message(),
            absl::StrCat("cannot save ", path, ": there is no folder ",
                         testing::TempDir(), "/not_there; make it first"));
}

// What a convolution reads outside of its input is no part of the array.
TEST(ParamArraysTest, ArraysHaveNoPadding) {
  train::Model model;
  auto loss =
      ParseTensor(model.graph,
                  "({x = 1; o=[5,5]} +* \"oh=+kh, ow=+kw; kh, kw => oh, ow\" "
                  "{k = 1; o=[3,3]}) ++ \"...|... => 0\"",
                  {});
  ASSERT_THAT(loss, IsOk());
  auto arrays = train::ParamArrays(model, loss->tensor);
  ASSERT_THAT(arrays, IsOk());
  ASSERT_EQ(arrays->size(), 2u);
  EXPECT_EQ((*arrays)[0].name, "x");
  EXPECT_EQ((*arrays)[0].dims, (Dims{5, 5}));
  EXPECT_EQ((*arrays)[1].dims, (Dims{3, 3}));
}

}  // namespace
}  // namespace ocannl
