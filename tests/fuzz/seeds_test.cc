// SPDX-License-Identifier: Apache-2.0
//
// A seed means one program, or one text, with whatever compiler a generator is
// built, so that a seed that fails here fails anywhere.
#include <xxhash.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/fuzz/notation/random_einsum.h"
#include "ocannl/fuzz/notation/random_graph.h"
#include "ocannl/fuzz/notation/random_text.h"
#include "ocannl/fuzz/programs/generate.h"
#include "ocannl/fuzz/programs/random.h"
#include "ocannl/fuzz/random_rewrites.h"
#include "tests/support/random_program.h"

namespace ocannl {
namespace {

constexpr uint64_t kSeeds = 300;

// Without derived functions, which every new one would change.
LoopProgram Generated(uint64_t seed) {
  fuzz::Policies policies;
  for (int k = 0; k < fuzz::kNumPolicies; ++k) {
    const auto policy = static_cast<fuzz::Policy>(k);
    const bool has = fuzz::PoliciesOf(seed).Has(policy);
    if (has && policy != fuzz::Policy::kDerivedFunctions) policies.Add(policy);
  }
  return fuzz::Generate(seed, policies);
}

LoopProgram Small(uint64_t seed) {
  return RandomProgram({.roles = {Role::kInOut, Role::kTemp, Role::kOut},
                        .most_nests = 3,
                        .perfect_percent = 20,
                        .par_percent = 20,
                        .zero_percent = 5,
                        .fill_percent = 50,
                        .looks_up = true,
                        .private_buffers = true},
                       seed);
}

std::string Einsum(uint64_t seed) {
  fuzz::Random random(seed);
  return fuzz::RandomEinsum(random).Spec();
}

uint32_t HashOf(std::string (*make)(uint64_t seed)) {
  std::string texts;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    absl::StrAppend(&texts, make(seed), "\n");
  }
  return XXH32(texts.data(), texts.size(), 0);
}

TEST(SeedsTest, MeanTheSameWithEveryCompiler) {
  struct Generator {
    const char* name;
    std::string (*make)(uint64_t seed);
    uint32_t hash;
  };
  for (const Generator& generator : {
           Generator{"fuzz::Generate",
                     [](uint64_t seed) { return Print(Generated(seed)); },
                     3367769891},
           Generator{"fuzz::RewriteAtRandom",
                     [](uint64_t seed) {
                       return fuzz::RewriteAtRandom(Generated(seed)).script;
                     },
                     3816688742},
           Generator{
               "fuzz::MakeText",
               [](uint64_t seed) { return fuzz::MakeText(seed, {}).text; },
               1305463562},
           Generator{"fuzz::MakeGraph",
                     [](uint64_t seed) { return fuzz::MakeGraph(seed).text; },
                     3080450391},
           Generator{"fuzz::RandomEinsum", Einsum, 4244510404},
           Generator{"RandomProgram",
                     [](uint64_t seed) { return Print(Small(seed)); },
                     1750702084},
       }) {
    EXPECT_EQ(HashOf(generator.make), generator.hash)
        << generator.name << ": who changes what it makes, which follows from "
        << "the primitives of ops.def and the legal rewrites too, writes the "
           "first number here. Else two draws stand in one expression, whose "
           "order is the compiler's: name the values first.";
  }
}

}  // namespace
}  // namespace ocannl
