// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/batches/batch_campaign.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "ocannl/core/schedule/refusal.h"
#include "ocannl/fuzz/batches/batch_trial.h"
#include "ocannl/fuzz/batches/random_case.h"
#include "ocannl/fuzz/batches/shrink_case.h"
#include "ocannl/fuzz/child.h"
#include "ocannl/fuzz/run_trials.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl::fuzz {
namespace {

// The cases that one child tries, how long it may take, and how long one case
// may.
constexpr int64_t kCasesOfAChild = 500;
constexpr int kSecondsOfAChild = 600;
constexpr int kSecondsOfACase = 60;

// What a child has done.
struct Progress {
  int64_t pairs;
  size_t tier;  // that is at work
};

// What differs on the tier; of a case that does not fit its sizes, which
// shrinking makes, nothing.
std::string Differs(const BatchCase& one, const ComparedTier& tier) {
  return RunInChild(kSecondsOfACase,
                    [&]() -> std::string {
                      auto trial = BatchTrial::Make(one);
                      return trial.ok() ? trial->Try(*tier.backend()) : "";
                    })
      .text;
}

class BatchCampaign {
 public:
  explicit BatchCampaign(const BatchCampaignOptions& options)
      : options_(options) {
    result_.seed = options.seed;
  }

  BatchCampaignResult Run() {
    const TrialCount count = RunTrials<Progress>(
        {.seed = options_.seed,
         .cases = options_.only ? 1 : options_.cases,
         .seconds = options_.seconds,
         .of_child = kCasesOfAChild,
         .child_seconds = kSecondsOfAChild},
        [&](uint64_t seed, Progress& progress) {
          return TryCase(CaseOf(seed), progress);
        },
        [&](const Progress& progress, const FailedTrial* failed) {
          result_.pairs += progress.pairs;
          if (failed != nullptr) {
            AddFailure(failed->seed, options_.tiers[progress.tier],
                       failed->result.text);
          }
          return static_cast<int64_t>(result_.failures.size()) <
                 options_.max_failures;
        });
    result_.cases = count.cases;
    result_.seconds = count.seconds;
    return std::move(result_);
  }

 private:
  BatchCase CaseOf(uint64_t seed) const {
    return options_.only ? *options_.only : RandomBatchCase(seed);
  }

  std::string TryCase(const BatchCase& one, Progress& progress) const {
    progress.tier = 0;
    absl::StatusOr<BatchTrial> trial = BatchTrial::Make(one);
    if (!trial.ok()) return absl::StrCat("refused: ", trial.status().message());
    for (size_t k = 0; k < options_.tiers.size(); ++k) {
      progress.tier = k;
      if (!options_.tiers[k].available) continue;
      std::string difference = trial->Try(*options_.tiers[k].backend());
      if (!difference.empty()) return difference;
    }
    progress.pairs += static_cast<int64_t>(one.batches.size()) - 1;
    return "";
  }

  void AddFailure(uint64_t seed, const ComparedTier& tier,
                  std::string difference) {
    BatchCase one = CaseOf(seed);
    if (options_.shrink) {
      one = ShrinkCase(std::move(one), [&](const BatchCase& less) {
        return !Differs(less, tier).empty();
      });
      std::string now = Differs(one, tier);
      if (!now.empty()) difference = std::move(now);
    }
    result_.failures.push_back(
        {one.seed, tier.name, std::move(difference), std::move(one)});
  }

  const BatchCampaignOptions& options_;
  BatchCampaignResult result_;
};

}  // namespace

BatchCampaignResult RunBatchCampaign(const BatchCampaignOptions& options) {
  MakeRefusalsFatal();
  return BatchCampaign(options).Run();
}

std::string ReproText(const BatchFailure& failure, absl::string_view path) {
  const std::string remark = absl::StrCat(
      "seed ", failure.seed, ", ", failure.tier, ": ", failure.difference,
      "\nbazel run //ocannl -- fuzz --batches ", path,
      " --tiers=", failure.tier);
  return absl::StrCat("# ", absl::StrReplaceAll(remark, {{"\n", "\n# "}}), "\n",
                      ToString(failure.small));
}

std::string Report(const BatchCampaignResult& result) {
  std::string text = absl::StrFormat(
      "seed %d, %d graphs in %.1f s, %d pairs of batches, %.0f a second\n",
      result.seed, result.cases, result.seconds, result.pairs,
      static_cast<double>(result.pairs) / result.seconds);
  if (result.failures.empty()) text += "no failures\n";
  return text;
}

std::vector<std::string> BatchTiers() {
  std::vector<std::string> names = {"interp", "schedule-gpu-middle"};
  for (jit::Isa isa : jit::kIsas) {
    names.push_back(absl::StrCat("x86-", jit::Name(isa)));
  }
  return names;
}

}  // namespace ocannl::fuzz
