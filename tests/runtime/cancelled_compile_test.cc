// SPDX-License-Identifier: Apache-2.0
//
// Compilations that another thread asks to end: on every tier they return
// CancelledError, and leave nothing that later ones would find. 1 second.
#include <atomic>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/system/cancellation.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/graph/model.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using absl::StatusCode;

TEST(CancellationTest, IsOfAThreadAndAScope) {
  std::atomic<bool> outer = false, inner = true;
  const CancellationScope scope(&outer);
  EXPECT_FALSE(IsCancelled());
  {
    const CancellationScope within(&inner);
    EXPECT_TRUE(IsCancelled());
    EXPECT_THAT(CheckNotCancelled(), StatusIs(StatusCode::kCancelled));
  }
  EXPECT_THAT(CheckNotCancelled(), IsOk());
  outer = true;
  EXPECT_TRUE(IsCancelled());
}

TEST(CancellationTest, CompilationsEndAndLeaveNothing) {
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  for (const std::string& tier : tiers) {
    SCOPED_TRACE(tier);
    auto backend = FindTier(tier, {.report = true});
    ASSERT_THAT(backend, IsOk());
    const Device device("host", *backend);
    Stream stream(&device);
    const Context context(&stream);
    train::Model model;
    const Tensor y = MustParseTensor(
        model.graph, "([1, 2, 3] *. [4, 5, 6]) ++ \"...|... => 0\"");
    auto code = train::Forward(model, y);
    ASSERT_THAT(code, IsOk());
    auto program = CompileProgram(*code, {});
    ASSERT_THAT(program, IsOk());
    {
      const std::atomic<bool> flag = true;
      const CancellationScope scope(&flag);
      EXPECT_THAT(CompileProgram(*code, {}), StatusIs(StatusCode::kCancelled));
      EXPECT_THAT(ToRoutine(context, *code, {}),
                  StatusIs(StatusCode::kCancelled));
      EXPECT_THAT((*backend)->Compile(*program).status(),
                  testing::AnyOf(IsOk(), StatusIs(StatusCode::kCancelled)));
    }
    auto routine = ToRoutine(context, *code, {});
    ASSERT_THAT(routine, IsOk());
    EXPECT_THAT(routine->Run(), IsOk());
    EXPECT_EQ(context.Read(y.node().name)->AsDouble(0), 32);
    EXPECT_EQ((*backend)->Report().find("is interpreted"), std::string::npos);
    EXPECT_EQ((*backend)->Report().find("asked to end"), std::string::npos);
  }
}

}  // namespace
}  // namespace ocannl
