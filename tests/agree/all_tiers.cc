// SPDX-License-Identifier: Apache-2.0
#include "tests/agree/all_tiers.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/fuzz/child.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/fuzz/trial.h"
#include "tests/support/compiles_once.h"

namespace ocannl::fuzz {
namespace {

constexpr uint64_t kSeed = 1;

// What runs for longer hangs. Under a sanitizer all is slower, and Bazel gives
// the whole test more time, of which this is a part.
int SecondsOfATier() {
  const char* text = std::getenv("TEST_TIMEOUT");
  int seconds = 0;
  if (text == nullptr || !absl::SimpleAtoi(text, &seconds)) seconds = 0;
  return std::max(60, seconds / 5);
}

// Once in a process, whether machine code is among what is compared is said.
void SayWhatIsMissing() {
  [[maybe_unused]] static const bool said = [] {
    for (const ComparedTier& tier : ComparedTiers()) {
      if (tier.available) continue;
      std::cerr << "not compared, this machine lacks it: " << tier.name << "\n";
    }
    return true;
  }();
}

testing::AssertionResult OnEach(
    absl::FunctionRef<std::string(const ComparedTier& tier)> differ) {
  SayWhatIsMissing();
  auto try_each = [&](absl::Span<const ComparedTier> tiers) -> std::string {
    for (const ComparedTier& tier : tiers) {
      std::string difference = tier.available ? differ(tier) : "";
      if (!difference.empty()) return absl::StrCat(tier.name, ": ", difference);
    }
    return "";
  };
  // One child for all, as most agree and to fork takes longer than a small
  // program. Then one for each, so that a signal is that of one tier.
  const absl::Span<const ComparedTier> tiers = ComparedTiers();
  const ChildResult all =
      RunInChild(SecondsOfATier(), [&] { return try_each(tiers); });
  if (all.text.empty()) return testing::AssertionSuccess();
  for (const ComparedTier& tier : tiers) {
    const ChildResult one = RunInChild(SecondsOfATier(), [&] {
      return try_each({&tier, 1});
    });
    if (one.text.empty()) continue;
    return testing::AssertionFailure()
           << (one.died ? absl::StrCat(tier.name, ": ") : "") << one.text;
  }
  if (all.timed_out) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "all in one process: " << all.text;
}

// How many statements `block` runs.
double Runs(const Block& block) {
  double runs = 0;
  for (const Stmt& stmt : block.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    runs += loop == nullptr
                ? 1
                : static_cast<double>(loop->extent) * Runs(loop->body);
  }
  return runs;
}

// The slow tiers get the two kinds that hold most of what the others do, and so
// do all where a program runs for long, as the cells of its arrays hold many
// numbers each time; the slow ones then get one.
std::vector<FillKind> FillsFor(const ComparedTier& tier, bool is_long) {
  if (tier.is_slow && is_long) return {FillKind::kLogUniform};
  if (tier.is_slow || is_long) return {FillKind::kLogUniform, FillKind::kZoo};
  return {FillKind::kUnit, FillKind::kSmallIntegers, FillKind::kLogUniform,
          FillKind::kZoo};
}

}  // namespace

testing::AssertionResult OnEachTier(
    absl::FunctionRef<std::string(const Backend& tier)> differ) {
  return OnEach(
      [&](const ComparedTier& tier) { return differ(*tier.backend()); });
}

testing::AssertionResult TiersAgree(const LoopProgram& program) {
  const bool is_long = Runs(program.body) > 1e5;
  std::map<FillKind, Trial> trials;  // of each child; tiers in it share them
  std::map<std::string, CompilesOnce> backends;  // trials know their addresses
  testing::AssertionResult result =
      OnEach([&](const ComparedTier& tier) -> std::string {
        const Backend& backend =
            backends.try_emplace(tier.name, tier.backend()).first->second;
        for (FillKind kind : FillsFor(tier, is_long)) {
          const Trial& trial =
              trials.try_emplace(kind, program, kind, kSeed).first->second;
          std::string difference = trial.Try(backend);
          if (!difference.empty()) return difference;
        }
        return "";
      });
  return result ? result : result << "\n" << Print(program);
}

}  // namespace ocannl::fuzz
