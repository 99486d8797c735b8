// SPDX-License-Identifier: Apache-2.0
#include "ocannl/interp/explain_nonfinite.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/interp/tree_backend.h"
#include "tests/support/must_parse.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl::interp {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<std::unique_ptr<RunObserver>> Explains() {
  std::vector<std::unique_ptr<RunObserver>> observers;
  observers.push_back(std::make_unique<ExplainNonfinite>());
  return observers;
}

class ExplainNonfiniteTest : public testing::Test {
 protected:
  // A routine that reads x, a number.
  Routine Link(const std::string& name, const std::string& body) {
    absl::StatusOr<Routine> routine = host_.context.CompileAndLink(
        MustParse(absl::StrCat(name, " ():\n  in x : f32[];\n", body)));
    CHECK_OK(routine);
    return *std::move(routine);
  }

  // What `y := value` leaves in y.
  absl::StatusOr<NdArray> Evaluate(const std::string& value, float x) {
    Routine routine = Link("p", absl::StrCat("out y : f32[]; ", value));
    CHECK_OK(host_.context.Write("x", NdArray::Of<float>({}, {x})));
    CHECK_OK(routine.Run());
    return host_.context.Read("y");
  }

  TreeBackend backend_{Explains()};
  TestDevice host_{&backend_};
};

TEST_F(ExplainNonfiniteTest, BlamesNoNumberOfTheProgramAndNoInput) {
  EXPECT_THAT(Evaluate("y[] := -inf;", 0), IsOk());
  EXPECT_THAT(Evaluate("y[] := max(-inf, -x[]);", kInf), IsOk());
  EXPECT_THAT(Evaluate("y[] := (x[] - x[]);", kInf), IsOk());
  EXPECT_THAT(Evaluate("y[] := sqrt((x[] - inf));", 3), IsOk());
}

TEST_F(ExplainNonfiniteTest, BlamesNothingThatIsNotStored) {
  EXPECT_THAT(Evaluate("y[] := select((x[] <= 0), 1, (1 / x[]));", 0), IsOk());
  EXPECT_THAT(Evaluate("y[] := select((x[] <= 0), inf, (1 / x[]));", 0),
              IsOk());
  EXPECT_THAT(Evaluate("y[] := (1 / (1 / x[]));", 0), IsOk());
}

// Not even where another statement has stored it before.
TEST_F(ExplainNonfiniteTest, BlamesNothingThatIsThrownAwayLater) {
  EXPECT_THAT(Evaluate("temp t : f32[]; t[] := (1 / x[]);"
                       "y[] := select((x[] <= 0), 1, t[]);",
                       0),
              IsOk());
  EXPECT_THAT(Evaluate("let v1 : f32 := log(x[]); y[] := max(v1, 2);", 0),
              IsOk());
  EXPECT_THAT(
      Evaluate("y[] := (1 / x[]); y[] := select((y[] < 5), y[], 3);", 0),
      IsOk());
  EXPECT_THAT(Evaluate("y[] := (1 / x[]); zero_out y;", 0), IsOk());
  // The first one is thrown away, and the second one stays.
  EXPECT_THAT(Evaluate("temp t : f32[]; t[] := (1 / x[]); y[] := (0 - t[]);"
                       "t[] := log(x[]); y[] := select((x[] <= 0), t[], y[]);",
                       0),
              StatusIs(StatusCode::kOutOfRange,
                       AllOf(HasSubstr("makes -inf"), HasSubstr("log(x[])"))));
}

// The statement that made it is named, not that which passes it on.
TEST_F(ExplainNonfiniteTest, FollowsCellsToTheResult) {
  EXPECT_THAT(Evaluate("temp t : f32[3]; temp u : f32[3]; for i0 = 0 to 2 {"
                       "  t[i0] := (1 / (x[] - f32([i0]))); }"
                       "for i1 = 0 to 2 { u[i1] := (t[2 - i1] * 2); }"
                       "y[] := (u[0] + u[1]);",
                       1),
              StatusIs(StatusCode::kOutOfRange,
                       AllOf(HasSubstr("t[i0] := "), HasSubstr("i0 = 1"))));
}

TEST_F(ExplainNonfiniteTest, NamesOperationOperandsAndTarget) {
  EXPECT_THAT(Evaluate("y[] := max(-inf, exp(x[]));", 100),
              StatusIs(StatusCode::kOutOfRange,
                       "`p` makes inf of finite numbers in\n"
                       "  y[] := max(-inf, exp(x[]));\n"
                       "where\n"
                       "  x[] = 100\n"
                       "  exp(x[]) = inf\n"
                       "  y[] = inf"));
}

TEST_F(ExplainNonfiniteTest, FindsWhatNeedsNoReads) {
  EXPECT_THAT(Evaluate("y[] := (0 / 0);", 1),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("makes nan")));
}

TEST_F(ExplainNonfiniteTest, FindsConversions) {
  EXPECT_THAT(Evaluate("y[] := f32((f64(x[]) * 1e10:f64));", 1e30F),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("y[] = inf")));
}

TEST_F(ExplainNonfiniteTest, FindsTheLocalThatWasTheFirst) {
  EXPECT_THAT(Evaluate("let v1 : f32 := (x[] * x[]); y[] := (v1 - v1);", 1e20F),
              StatusIs(StatusCode::kOutOfRange,
                       AllOf(HasSubstr("let v1 : f32 := x[] * x[];"),
                             HasSubstr("v1 = inf"))));
}

TEST_F(ExplainNonfiniteTest, NothingRunsAfterIt) {
  Routine faulty = Link("faulty", "out y : f32[]; y[] := (1 / x[]);");
  Routine next = Link("next", "inout n : i32[]; n[] := (n[] + 1:i32);");
  ASSERT_THAT(host_.context.Write("x", NdArray::Of<float>({}, {1})), IsOk());
  ASSERT_THAT(host_.context.Write("n", NdArray::Of<int32_t>({}, {0})), IsOk());
  // So often that the stream puts runs off.
  for (int run = 0; run < 300; ++run) {
    ASSERT_THAT(faulty.Run(), IsOk());
    ASSERT_THAT(next.Run(), IsOk());
  }
  absl::StatusOr<NdArray> n = host_.context.Read("n");
  ASSERT_THAT(n, IsOk());
  EXPECT_EQ(n->values<int32_t>()[0], 300);
  ASSERT_THAT(host_.context.Write("x", NdArray::Of<float>({}, {0})), IsOk());
  ASSERT_THAT(faulty.Run(), IsOk());
  EXPECT_THAT(host_.context.Read("n"),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("`faulty` makes")));
  ASSERT_THAT(host_.context.Write("x", NdArray::Of<float>({}, {-0.0F})),
              IsOk());
  ASSERT_THAT(faulty.Run(), IsOk());
  EXPECT_THAT(host_.context.Read("y"),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("makes inf")));
  Stream other_stream(&host_.device);
  EXPECT_THAT(Context(&other_stream).Copy("n", host_.context),
              StatusIs(StatusCode::kOutOfRange));
}

}  // namespace
}  // namespace ocannl::interp
