// SPDX-License-Identifier: Apache-2.0
#include "tests/agree/all_tiers.h"

#include "ocannl/core/loop/print.h"
#include "ocannl/fuzz/child.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/fuzz/trial.h"

namespace ocannl::fuzz {
namespace {

constexpr uint64_t kSeed = 1;
constexpr int kSecondsOfATier = 60;

}  // namespace

testing::AssertionResult OnEachTier(
    absl::FunctionRef<std::string(const Backend& tier)> differ) {
  for (const ComparedTier& tier : ComparedTiers()) {
    if (!tier.available) continue;
    ChildResult child =
        RunInChild(kSecondsOfATier, [&] { return differ(*tier.backend()); });
    if (!child.text.empty()) {
      return testing::AssertionFailure() << tier.name << ": " << child.text;
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult TiersAgree(const LoopProgram& program) {
  testing::AssertionResult result =
      OnEachTier([&](const Backend& tier) -> std::string {
        for (FillKind kind : {FillKind::kUnit, FillKind::kSmallIntegers,
                              FillKind::kLogUniform, FillKind::kZoo}) {
          std::string difference = Trial(program, kind, kSeed).Try(tier);
          if (!difference.empty()) return difference;
        }
        return "";
      });
  return result ? result : result << "\n" << Print(program);
}

}  // namespace ocannl::fuzz
