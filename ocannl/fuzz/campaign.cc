// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/campaign.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/schedule/refusal.h"
#include "ocannl/fuzz/child.h"
#include "ocannl/fuzz/programs/generate.h"
#include "ocannl/fuzz/run_trials.h"
#include "ocannl/fuzz/shrink.h"
#include "ocannl/fuzz/trial.h"

namespace ocannl::fuzz {

namespace {

// The programs that one child tries, and how long one of them may take.
constexpr int64_t kProgramsOfAChild = 200;
constexpr int kSecondsOfAChild = 300;
constexpr int kSecondsOfATrial = 30;

// What a child has done.
struct Progress {
  int64_t mostly_finite;
  DecisionCounts decisions;
  size_t tier;  // that is at work
};

void CountDecisions(const LoopProgram& program, DecisionCounts& counts) {
  for (int target = 0; target < kNumTargets; ++target) {
    const Decisions taken =
        DecisionsOf(program, kComparedTargets[target].target);
    for (int k = 0; k < kNumDecisions; ++k) {
      counts[target][k] += taken.Has(static_cast<Decision>(k)) ? 1 : 0;
    }
  }
}

// "... file.cc:7: " of "... file.cc:7: CHECK failed: ..."; empty: no CHECK did.
std::string FailedCheck(absl::string_view text) {
  size_t at = text.find("CHECK failed");
  return std::string(text.substr(0, at == text.npos ? 0 : at));
}

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options) : options_(options) {
    result_.seed = options.seed;
    result_.tiers = options.tiers;
  }

  CampaignResult Run() {
    const TrialCount count = RunTrials<Progress>(
        {.seed = options_.seed,
         .cases = options_.programs,
         .seconds = options_.seconds,
         .of_child = kProgramsOfAChild,
         .child_seconds = kSecondsOfAChild},
        [&](uint64_t seed, Progress& progress) { return Try(seed, progress); },
        [&](const Progress& progress, const FailedTrial* failed) {
          Add(progress);
          if (failed != nullptr) AddFailure(*failed, progress.tier);
          return static_cast<int64_t>(result_.failures.size()) <
                 options_.max_failures;
        });
    result_.programs = count.cases;
    result_.seconds = count.seconds;
    for (int64_t k = 0; k < result_.programs && !options_.program; ++k) {
      Policies policies = PoliciesOf(options_.seed + k);
      for (int policy = 0; policy < kNumPolicies; ++policy) {
        bool has = policies.Has(static_cast<Policy>(policy));
        result_.policies[policy] += has ? 1 : 0;
      }
    }
    return std::move(result_);
  }

 private:
  LoopProgram ProgramOf(uint64_t seed) const {
    return options_.program ? *options_.program
                            : Generate(seed, PoliciesOf(seed));
  }

  bool Tries(const ComparedTier& tier, uint64_t seed) const {
    if (!tier.available) return false;
    return !tier.is_slow || options_.program ||
           !PoliciesOf(seed).Has(Policy::kLayers);
  }

  std::string Try(uint64_t seed, Progress& progress) const {
    LoopProgram program = ProgramOf(seed);
    Trial trial(program, KindOf(seed), seed);
    for (size_t k = 0; k < options_.tiers.size(); ++k) {
      progress.tier = k;
      if (!Tries(options_.tiers[k], seed)) continue;
      std::string difference = trial.Try(*options_.tiers[k].backend());
      if (!difference.empty()) return difference;
    }
    CountDecisions(program, progress.decisions);
    progress.mostly_finite += trial.MostlyFinite() ? 1 : 0;
    return "";
  }

  void Add(const Progress& progress) {
    result_.mostly_finite += progress.mostly_finite;
    for (int target = 0; target < kNumTargets; ++target) {
      for (int k = 0; k < kNumDecisions; ++k) {
        result_.decisions[target][k] += progress.decisions[target][k];
      }
    }
  }

  void AddFailure(const FailedTrial& failed, size_t tier_number) {
    const uint64_t seed = failed.seed;
    const ChildResult& result = failed.result;
    const ComparedTier& tier = options_.tiers[tier_number];
    const std::string check = FailedCheck(result.text);
    for (Failure& failure : result_.failures) {
      if (check.empty() || failure.tier != tier.name) continue;
      if (failure.check != check) continue;
      ++failure.times;
      return;
    }
    auto once_more = [&](const LoopProgram& program) {
      return RunInChild(kSecondsOfATrial, [&]() -> std::string {
        return Trial(program, KindOf(seed), seed).Try(*tier.backend());
      });
    };
    LoopProgram program = ProgramOf(seed);
    std::string difference = result.text;
    if (options_.shrink) {
      program = Shrink(std::move(program), [&](const LoopProgram& p) {
        ChildResult now = once_more(p);
        return !now.text.empty() && now.died == result.died;
      });
      std::string now = once_more(program).text;
      // What fails only after other programs keeps its own words.
      if (!now.empty()) difference = std::move(now);
    }
    result_.failures.push_back({.seed = seed,
                                .tier = tier.name,
                                .check = check,
                                .difference = std::move(difference),
                                .program = std::move(program)});
  }

  const CampaignOptions& options_;
  CampaignResult result_;
};

double Percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / whole;
}

}  // namespace

CampaignResult RunCampaign(const CampaignOptions& options) {
  MakeRefusalsFatal();
  return Campaign(options).Run();
}

std::string Report(const CampaignResult& result) {
  const auto programs = static_cast<double>(result.programs);
  std::string text = absl::StrFormat(
      "seed %d, %d programs in %.1f s, %.0f an hour\n", result.seed,
      result.programs, result.seconds, programs * 3600 / result.seconds);
  const int64_t layers = result.policies[static_cast<int>(Policy::kLayers)];
  for (const ComparedTier& tier : result.tiers) {
    int64_t failures = 0;
    for (const Failure& failure : result.failures) {
      failures += failure.tier == tier.name ? failure.times : 0;
    }
    absl::StrAppend(&text, "  ", tier.name, ": ",
                    tier.available ? absl::StrCat(failures, " failures")
                                   : "not run, this machine lacks it",
                    tier.is_slow && layers > 0
                        ? absl::StrCat(", not run on ", layers, " of layers")
                        : "",
                    "\n");
  }
  if (result.failures.empty()) {
    absl::StrAppendFormat(
        &text, "with 95 %% confidence fewer than %.2g of programs fail\n",
        3 / programs);
  }
  return text;
}

std::string Coverage(const CampaignResult& result) {
  std::string text =
      absl::StrFormat("%.0f %% of programs have over 90 %% finite outputs\n",
                      Percent(result.mostly_finite, result.programs));
  std::string policies;
  for (int k = 0; k < kNumPolicies; ++k) {
    if (result.policies[k] == 0) continue;
    absl::StrAppendFormat(&policies, "%s%s %.0f %%", k == 0 ? "" : ", ",
                          Name(static_cast<Policy>(k)),
                          Percent(result.policies[k], result.programs));
  }
  if (!policies.empty()) {
    absl::StrAppend(&text, WrapWords(policies, 0, 2), "\n");
  }
  for (int target = 0; target < kNumTargets; ++target) {
    std::string row =
        absl::StrCat("scheduled for ", kComparedTargets[target].name, ":");
    for (int k = 0; k < kNumDecisions; ++k) {
      absl::StrAppendFormat(
          &row, "%s %s %.1f %%", k == 0 ? "" : ",",
          Name(static_cast<Decision>(k)),
          Percent(result.decisions[target][k], result.programs));
    }
    absl::StrAppend(&text, WrapWords(row, 0, 2), "\n");
  }
  return text;
}

std::string ReproText(const Failure& failure, absl::string_view path) {
  std::string remark = absl::StrCat(
      failure.tier, ", inputs of seed ", failure.seed, ": ", failure.difference,
      "\nbazel run //ocannl -- fuzz ", path, " --seed=", failure.seed,
      " --programs=1 --tiers=", failure.tier);
  return absl::StrCat("# ", absl::StrReplaceAll(remark, {{"\n", "\n# "}}), "\n",
                      Print(failure.program));
}

}  // namespace ocannl::fuzz
