// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/programs/generate.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/fuzz/programs/split.h"
#include "ocannl/fuzz/rewriting_backend.h"
#include "ocannl/fuzz/trial.h"
#include "ocannl/interp/interp_backend.h"

namespace ocannl::fuzz {
namespace {

constexpr uint64_t kSeeds = 400;

TEST(GenerateTest, TextAndProgramAreOne) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    LoopProgram program = Generate(seed, PoliciesOf(seed));
    std::string text = Print(program);
    EXPECT_EQ(text, Print(Generate(seed, PoliciesOf(seed))));
    absl::StatusOr<LoopProgram> parsed = Parse(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status() << text;
    EXPECT_EQ(Print(*parsed), text);
  }
}

// Each policy shows: programs that have only it, and ones that have none.
TEST(GenerateTest, PoliciesShow) {
  struct Case {
    Policy policy;
    absl::string_view shows;
  };
  for (const Case& c : {
           Case{Policy::kStructured, "structured ("},
           Case{Policy::kBigStrides, "2*i"},
           Case{Policy::kMixedPrecision, "u64["},
           Case{Policy::kDerivedFunctions, "tanh("},
           Case{Policy::kStaticIndices, "s0 : [0.."},
           Case{Policy::kZeroOuts, "zero_out"},
           Case{Policy::kPrivateBuffers, "private b"},
           Case{Policy::kLoopKinds, "vec i"},
           Case{Policy::kLoopKinds, "par i"},
           Case{Policy::kLoopKinds, "unroll i"},
           Case{Policy::kSplitLoops, "8*i"},
           Case{Policy::kLayers, "fma("},
           Case{Policy::kLookups, "[ids["},
       }) {
    Policies policies;
    int without = 0;
    int with = 0;
    for (uint64_t seed = 0; seed < 240; ++seed) {
      auto shows = [&](const Policies& p) {
        return absl::StrContains(Print(Generate(seed, p)), c.shows) ? 1 : 0;
      };
      without += shows(policies);
      Policies one = policies;
      one.Add(c.policy);
      with += shows(one);
    }
    EXPECT_GT(with, without) << Name(c.policy);
  }
}

// A program of gigabytes says nothing that a small one does not.
TEST(GenerateTest, BuffersStaySmall) {
  for (Policy form : {Policy::kStructured, Policy::kLayers}) {
    Policies policies;
    for (Policy policy : {form, Policy::kBigStrides, Policy::kStaticIndices,
                          Policy::kDeepNests, Policy::kLongReductions}) {
      policies.Add(policy);
    }
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      for (const Buffer& buffer : Generate(seed, policies).buffers) {
        EXPECT_LE(NumElements(buffer.dims), 1'000'000) << seed;
      }
    }
  }
}

TEST(SplitLoopsTest, KeepsEveryBit) {
  interp::InterpBackend interp;
  int split = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Policies policies = PoliciesOf(seed);
    LoopProgram program = Generate(seed, policies);
    RewritingBackend backend(
        "split",
        [&](LoopProgram p) {
          Random random(seed);
          LoopProgram parts = SplitLoops(p, random, policies);
          KeepPromises(parts);
          split += Print(parts) != Print(p) ? 1 : 0;
          return parts;
        },
        &interp);
    EXPECT_EQ(Trial(program, KindOf(seed), seed).Try(backend), "")
        << Print(program);
  }
  EXPECT_GT(split, kSeeds / 3);
}

}  // namespace
}  // namespace ocannl::fuzz
