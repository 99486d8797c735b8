// SPDX-License-Identifier: Apache-2.0
//
// Assignments of code as text whose value reads other cells of the array that
// they write: the value is computed first.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/train/graph/code.h"
#include "ocannl/train/graph/model.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using ::testing::ElementsAre;

std::vector<float> After(const std::string& first, const std::string& logic) {
  train::Model model;
  auto code = train::ParseCode(
      model, "{ y } =: " + first + "; y =: y ~logic:\"" + logic + "\"", {});
  CHECK_OK(code);
  code->update.name = "code";
  CHECK_OK(Keep(code->update, "y"));
  const TestDevice host;
  auto routine = ToRoutine(host.context, code->update, {});
  CHECK_OK(routine);
  CHECK_OK(routine->Run());
  auto y = routine->context().Read("y");
  CHECK_OK(y);
  const auto values = y->values<float>();
  return {values.begin(), values.end()};
}

TEST(SelfAssignmentTest, ReadsWhatWasThere) {
  EXPECT_THAT(After("[[0; 1]; [2; 3]]", "i, 0 => 1, i"),
              ElementsAre(0, 1, 0, 2));
  const std::string nine = "[[0; 1; 2]; [3; 4; 5]; [6; 7; 8]]";
  EXPECT_THAT(After(nine, "i, j => j, i"),
              ElementsAre(0, 3, 6, 1, 4, 7, 2, 5, 8));
  EXPECT_THAT(After(nine, "i, j => i, j"),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
}

}  // namespace
}  // namespace ocannl
