// SPDX-License-Identifier: Apache-2.0
//
// Seeded, bounded campaigns of ocannl fuzz --batches. A longer one:
// bazel run //ocannl -- fuzz --batches --programs=10000
#include <functional>
#include <iostream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/fuzz/batches/batch_campaign.h"
#include "ocannl/fuzz/batches/batch_case.h"
#include "ocannl/fuzz/batches/random_case.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/fuzz/rewriting_backend.h"
#include "ocannl/interp/interp_backend.h"
#include "tests/agree/faulty_backend.h"
#include "tests/support/status_matchers.h"

namespace ocannl::fuzz {
namespace {

using testing::HasSubstr;

// 5 s.
TEST(BatchesTest, RowsHaveTheSameBitsInEachBatch) {
  const auto tiers = FindComparedTiers(BatchTiers());
  CHECK_OK(tiers);
  const BatchCampaignResult result = RunBatchCampaign({.seed = 1,
                                                       .cases = 100,
                                                       .seconds = 5,
                                                       .max_failures = 1,
                                                       .tiers = *tiers});
  std::cout << Report(result);
  for (const BatchFailure& failure : result.failures) {
    ADD_FAILURE() << ReproText(failure, "FILE.txt");
  }
  EXPECT_GT(result.pairs, 50);
}

// Cases that had other bits when sums were ordered by extents.
constexpr const char* kCases[] = {
    // A product with a matrix, for one row without an axis, and for many.
    R"(property: rows
fill: normal 1
sizes: s0=100 s1=30
x0: #|s0 any
let v0 = ({w0; i=[s0]; o=[s1]} * x0)
batch: 0..63
batch: alone 5
batch: 5
batch: 7, 5
)",
    // The order of pairs in a product of four.
    R"(property: rows
fill: normal 2
sizes: s0=31 s1=64 s2=5 s3=33
x0: #|s0 any
let v0 = {w0; i=[s0]; o=[s1]}
let v1 = {w1; i=[s1]; o=[s2]}
let v2 = {w2; i=[s2]; o=[s3]}
let v3 = (x0 +* "#|a; a->b; b->c; c->d => #|d" v0 v1 v2)
batch: 0..63
batch: 0..1
batch: 5
)",
    // A dot of short rows, and softmax, whose sums have 10 terms.
    R"(property: rows
fill: wide 3
sizes: s0=10
x0: #|s0 any
x1: #|s0 any
let v0 = exp(x0 - (x0 @^^ "#|a => #|0"))
let v1 = (v0 /. (v0 ++ "#|a => #|0"))
let v2 = ((v1 +* "#|a; #|a => #" x1) *. {w0; o=[]})
batch: 0..31
batch: alone 3
batch: 3
)",
    // 16 terms, and more that are 0.
    R"(property: terms
fill: normal 4
sizes: s0=7
x0: s0, # zero
let v0 = (x0 ++ "a, # => a")
batch: 0..15
batch: 0..127
batch: 0..1040
)",
    // Gradients of parameters, with rows that weigh nothing.
    R"(property: terms
fill: normal 5
sizes: s0=6 s1=33
x0: #|s0 any
x1: #|s1 zero
let v0 = tanh({b; o=[s1]} + {w0; i=[s0]; o=[s1]} * x0)
let v1 = (v0 *. x1)
batch: 0..29
batch: 0..30
batch: 0..1029
)",
    // A sum of -0 is 0, as it is with one more 0.
    R"(property: terms
fill: zeros 6
sizes: s0=64
x0: #, s0 zero
let v0 = (x0 ++ "#, a => a")
batch: 0
batch: 0..1
)"};

// 1 s.
TEST(BatchesTest, KnownCases) {
  const auto tiers = FindComparedTiers(BatchTiers());
  CHECK_OK(tiers);
  for (const char* text : kCases) {
    const auto one = ParseBatchCase(text);
    ASSERT_THAT(one, IsOk());
    const BatchCampaignResult result =
        RunBatchCampaign({.shrink = false, .tiers = *tiers, .only = *one});
    for (const BatchFailure& failure : result.failures) {
      ADD_FAILURE() << ReproText(failure, "FILE.txt");
    }
  }
}

// The cells of the operand x0 of a program.
int64_t CellsOfOperand(const LoopProgram& program) {
  for (const Buffer& buffer : program.buffers) {
    if (buffer.name == "x0") return NumElements(buffer.dims);
  }
  return 0;
}

// What a campaign finds where programs for which `is_faulty` holds sum from the
// last term to the first.
BatchCampaignResult RunFaulty(
    BatchProperty property,
    const std::function<bool(int64_t cells)>& is_faulty) {
  LoopProgram (*reverse)(LoopProgram) = nullptr;
  for (const Fault& fault : Faults()) {
    if (fault.name == "reverses_loops") reverse = fault.rewrite;
  }
  CHECK(reverse != nullptr);
  const interp::InterpBackend interp;
  const RewritingBackend backend(
      "faulty",
      [&](LoopProgram program) {
        const bool is = is_faulty(CellsOfOperand(program));
        return is ? reverse(std::move(program)) : program;
      },
      &interp);
  BatchCampaignOptions options{.max_failures = 1};
  options.tiers = {{"faulty", true, [&] { return &backend; }}};
  BatchCampaignResult result;
  for (uint64_t seed = 1; result.failures.empty(); ++seed) {
    options.seed = seed;
    options.cases = 1;
    CHECK_LE(seed, 200u) << "the fault is not found";
    if (RandomBatchCase(seed).property == property) {
      result = RunBatchCampaign(options);
    }
  }
  return result;
}

// A sum that goes another way where there are few cells.
TEST(BatchesTest, ACampaignFindsAnOrderThatDependsOnTheBatch) {
  const BatchCampaignResult result =
      RunFaulty(BatchProperty::kRows, [](int64_t cells) { return cells < 40; });
  const std::string text = ReproText(result.failures[0], "FILE.txt");
  std::cout << text;
  EXPECT_THAT(text, HasSubstr("seed "));
  EXPECT_THAT(text, HasSubstr(" in batch "));
  const BatchCase& small = result.failures[0].small;
  EXPECT_LE(small.lets.size(), 2u);
  EXPECT_EQ(small.batches.size(), 2u);
}

TEST(BatchesTest, ACampaignFindsAnOrderThatDependsOnPadding) {
  const BatchCampaignResult result = RunFaulty(
      BatchProperty::kTerms, [](int64_t cells) { return cells % 3 == 1; });
  std::cout << ReproText(result.failures[0], "FILE.txt");
  EXPECT_EQ(result.failures[0].small.batches.size(), 2u);
}

// What a campaign prints, read again, is the same case.
TEST(BatchesTest, CasesAreTexts) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const std::string text = ToString(RandomBatchCase(seed));
    const auto read = ParseBatchCase("# a comment\n" + text);
    ASSERT_THAT(read, IsOk()) << text;
    EXPECT_EQ(ToString(*read), text);
  }
}

TEST(BatchesTest, ErrorsNameTheLine) {
  EXPECT_THAT(ParseBatchCase("property: rows\nbatch: 3..1").status().message(),
              HasSubstr("line 2: `batch: 3..1`"));
  EXPECT_THAT(ParseBatchCase("x0: #|s0 any").status().message(),
              HasSubstr("no line `let"));
  EXPECT_THAT(ParseBatchCase("let v0 = x0\nbatch: alone 1").status().message(),
              HasSubstr("fewer than two"));
}

TEST(BatchesTest, RowsAreLeftOut) {
  EXPECT_EQ(WithRows("#|a, b", "7"), "7|a, b");
  EXPECT_EQ(WithRows("#|a, b", ""), "a, b");
  EXPECT_EQ(WithRows("a->#", ""), "a->");
  EXPECT_EQ(WithRows("a, #->b; # => #, c", ""), "a->b;  => c");
}

}  // namespace
}  // namespace ocannl::fuzz
