// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/fit/course.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/dtype.h"

namespace ocannl::train {
namespace {

using testing::HasSubstr;

Course Moons(const std::string& seed, const std::string& data = "") {
  return {.name = "moons",
          .settings = {{.name = "seed", .value = seed},
                       {.name = "data", .value = data},
                       {.name = "epochs", .value = "4", .may_differ = true}},
          .prefix = "--"};
}

std::string Error(const Course& saved, const Course& given) {
  return std::string(CompareCourses("m.npz", saved, given).status().message());
}

TEST(CourseTest, TextIsReadBack) {
  Course course = Moons("1", "a \"b\"\n=c");
  course.settings[1].hash = "12ab";
  const auto again = ParseCourse(ToText(course));
  CHECK_OK(again);
  EXPECT_EQ(again->name, "moons");
  ASSERT_EQ(again->settings.size(), 3u);
  EXPECT_EQ(again->settings[1].value, course.settings[1].value);
  EXPECT_EQ(again->settings[1].hash, "12ab");
  CHECK_OK(ParseCourse(ToText(Moons("1", "\xff"))));  // no UTF-8
  for (const char* text : {"", "[]", "{}", "{\"flags\": 1}", "{"}) {
    EXPECT_FALSE(ParseCourse(text).ok()) << text;
  }
  EXPECT_TRUE(ParseCourse(R"({"experiment": 1, "flags": [2, {}]})").ok());
}

TEST(CourseTest, FlagsThatDifferAreNamed) {
  EXPECT_EQ(Error(Moons("1"), Moons("2")),
            "`m.npz`: it was saved with --seed=1, and this run has --seed=2; "
            "go on with what it was saved with");
  EXPECT_THAT(Error(Moons("1"), Moons("2", "circles")),
              HasSubstr("saved with --seed=1 no --data, and this run has "
                        "--seed=2 --data=circles;"));
  EXPECT_EQ(Error({.name = "lenet", .settings = {}}, Moons("1")),
            "`m.npz`: it is of `lenet`, not of `moons`; go on with that "
            "program");
}

TEST(CourseTest, WhatIsTheSameMayBeWrittenOtherwise) {
  EXPECT_EQ(*CompareCourses("m.npz", Moons("0.05"), Moons("5e-2")), "");
  // An older program had fewer flags.
  EXPECT_EQ(
      *CompareCourses("m.npz", {.name = "moons", .settings = {}}, Moons("")),
      "");
  Course here = Moons("1", "a.csv"), there = Moons("1", "b.csv");
  here.settings[1].hash = there.settings[1].hash = "1";
  EXPECT_EQ(*CompareCourses("m.npz", here, there), "");
  there = here;
  there.settings[1].hash = "2";
  EXPECT_EQ(Error(here, there),
            "`m.npz`: it was saved with other contents of --data=a.csv; go on "
            "with those");
}

TEST(CourseTest, SomeFlagsMayDiffer) {
  Course longer = Moons("1");
  longer.settings[2].value = "5";
  EXPECT_EQ(*CompareCourses("m.npz", Moons("1"), longer), "--epochs=4");
}

TEST(CourseTest, AnotherNetworkIsNamedByItsArrays) {
  const std::vector<ArrayEntry> found = {{"steps_done", DType::kI64, {}},
                                         {"b1", DType::kF32, {16}},
                                         {"w1", DType::kF32, {16, 2}}};
  auto error = [&](std::vector<Array> state) {
    return std::string(
        CheckNetwork("m.npz", found, state, {"steps_done"}, Moons("1"))
            .message());
  };
  const Array b1{.name = "b1", .dtype = DType::kF32, .dims = {16}};
  const Array w1{.name = "w1", .dtype = DType::kF32, .dims = {16, 2}};
  EXPECT_EQ(error({b1, w1}), "");
  const std::string begin =
      "`m.npz`: it is of another network than this one of `moons`: ";
  const std::string end =
      "; go on with the program and the flags that saved it, of --seed --data "
      "--epochs";
  const Array conv{.name = "conv1_b", .dtype = DType::kF32, .dims = {6}};
  EXPECT_EQ(error({b1, conv}),
            begin + "it alone has `w1`, it has no `conv1_b`" + end);
  const Array small{.name = "w1", .dtype = DType::kF32, .dims = {8, 2}};
  EXPECT_EQ(error({b1, small}),
            begin + "`w1` is f32[16, 2] in it and f32[8, 2] here" + end);
}

}  // namespace
}  // namespace ocannl::train
