// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/batches/batch_campaign.h"

#include <algorithm>
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
#include "ocannl/fuzz/shared_memory.h"
#include "ocannl/fuzz/stopwatch.h"
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
  int64_t cases;
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
      : options_(options), cases_(options.only ? 1 : options.cases) {
    result_.seed = options.seed;
  }

  BatchCampaignResult Run() {
    while (result_.cases < cases_ && !IsOver() &&
           static_cast<int64_t>(result_.failures.size()) <
               options_.max_failures) {
      RunChild();
    }
    result_.seconds = watch_.Seconds();
    return std::move(result_);
  }

 private:
  bool IsOver() const { return watch_.Seconds() > options_.seconds; }

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
    ++progress.cases;
    progress.pairs += static_cast<int64_t>(one.batches.size()) - 1;
    return "";
  }

  // Tries cases in one child until one fails or there are enough.
  void RunChild() {
    const uint64_t first = options_.seed + result_.cases;
    const int64_t left = std::min(cases_ - result_.cases, kCasesOfAChild);
    SharedMemory<Progress> progress;
    ChildResult child = RunInChild(kSecondsOfAChild, [&]() -> std::string {
      while (progress->cases < left && !IsOver()) {
        std::string error = TryCase(CaseOf(first + progress->cases), *progress);
        if (!error.empty()) return error;
      }
      return "";
    });
    result_.cases += progress->cases;
    result_.pairs += progress->pairs;
    if (child.text.empty()) return;
    ++result_.cases;  // The one that failed.
    AddFailure(first + progress->cases, options_.tiers[progress->tier],
               std::move(child.text));
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
  const int64_t cases_;
  const Stopwatch watch_;
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
