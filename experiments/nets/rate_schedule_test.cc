// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/rate_schedule.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/train/graph/model.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

// The rates of the steps 0, 3, 6, 9 and 12 of 12, from 2 on.
std::vector<float> Rates(const std::string& text) {
  auto schedule = ParseSchedule(text);
  CHECK_OK(schedule);
  train::Model model;
  TestDevice host;
  const int32_t step = model.graph.AddStatic("step", std::nullopt);
  const Tensor rate =
      Named(ScheduledRate(*schedule, model.graph, step, 2, 12), "rate");
  auto code = train::Forward(model, rate);
  CHECK_OK(code);
  auto routine = ToRoutine(host.context, *code, {});
  CHECK_OK(routine);
  std::vector<float> rates;
  for (const int64_t k : {0, 3, 6, 9, 12}) {
    if (!routine->statics().empty()) CHECK_OK(routine->Set("step", k));
    CHECK_OK(routine->Run());
    auto value = host.context.Read("rate");
    CHECK_OK(value);
    rates.push_back(static_cast<float>(value->AsDouble(0)));
  }
  return rates;
}

auto Near(std::vector<float> rates) {
  return testing::Pointwise(testing::FloatNear(1e-4f), std::move(rates));
}

TEST(RateScheduleTest, Kinds) {
  EXPECT_THAT(Rates("constant"), Near({2, 2, 2, 2, 2}));
  EXPECT_THAT(Rates("linear"), Near({2, 1.55f, 1.1f, 0.65f, 0.2f}));
  EXPECT_THAT(Rates("cosine"), Near({2, 1.7364f, 1.1f, 0.4636f, 0.2f}));
  EXPECT_THAT(Rates("step"), Near({2, 2, 0.6325f, 0.2f, 0.0632f}));
  EXPECT_THAT(Rates("exponential"), Near({2, 1.1247f, 0.6325f, 0.3557f, 0.2f}));
}

TEST(RateScheduleTest, WarmUp) {
  EXPECT_THAT(Rates("constant,warmup=8"), Near({0.25f, 1, 1.75f, 2, 2}));
  EXPECT_THAT(Rates("linear,warmup=1"), Near({2, 1.55f, 1.1f, 0.65f, 0.2f}));
}

TEST(RateScheduleTest, Errors) {
  for (const char* text :
       {"", "falling", "linear,", "linear,warmup=0", "linear,warmup=x",
        "linear,warmup=1,warmup=2", "warmup=3"}) {
    EXPECT_THAT(std::string(ParseSchedule(text).status().message()),
                testing::HasSubstr("is none of constant, linear"))
        << text;
  }
}

}  // namespace
}  // namespace ocannl
