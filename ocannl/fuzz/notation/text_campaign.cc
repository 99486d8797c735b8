// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/notation/text_campaign.h"

#include <sys/time.h>

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/schedule/refusal.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/fuzz/child.h"
#include "ocannl/fuzz/notation/random_graph.h"
#include "ocannl/fuzz/run_trials.h"
#include "ocannl/fuzz/stopwatch.h"

namespace ocannl::fuzz {
namespace {

// The texts that one child tries, how long it may take, and how much processor
// time one text may: what hangs uses it up, and what is stopped does not.
constexpr int64_t kTextsOfAChild = 5000;
constexpr int kSecondsOfAChild = 3600;
constexpr int kSecondsOfAText = 10;
constexpr double kSecondsToShrink = 60;

// What a child has done.
struct Progress {
  std::array<int64_t, TextOutcome::kNumStages> stages;
  int64_t open;
};

// In a child, which dies of what takes too long.
TextOutcome CheckInTime(const RandomText& text, const CodeTrial& trial) {
  itimerval limit = {};
  limit.it_value.tv_sec = kSecondsOfAText;
  CHECK_EQ(setitimer(ITIMER_PROF, &limit, nullptr), 0);
  return CheckText(text, trial);
}

// What is wrong with a text, in a child; empty: nothing.
std::string ErrorOf(const RandomText& text, const CodeTrial& trial) {
  return RunInChild(kSecondsOfAChild,
                    [&] { return CheckInTime(text, trial).error; })
      .text;
}

// Leaves out pieces of what `part` picks while it fails.
void ShrinkPart(RandomText& text, const CodeTrial& trial,
                absl::FunctionRef<std::string&(RandomText&)> part) {
  const Stopwatch watch;
  for (size_t size = part(text).size() / 2; size > 0; size /= 2) {
    for (size_t at = 0;
         at < part(text).size() && watch.Seconds() < kSecondsToShrink;) {
      RandomText less = text;
      part(less).erase(at, size);
      if (less.einsum) {
        less.text = TextOf(*less.einsum, less.operands.size());
      }
      if (ErrorOf(less, trial).empty()) {
        at += size;
      } else {
        text = std::move(less);
      }
    }
  }
}

// Ends a graph early, makes values of it parameters, and leaves out those that
// nothing uses, while it fails.
void ShrinkGraph(RandomText& text, const CodeTrial& trial) {
  RandomText part = text;
  part.lets_fit = false;
  if (ErrorOf(part, trial).empty()) return;  // it is refused
  text = std::move(part);
  auto fails = [&](std::vector<TextLet> lets) {
    RandomText less = text;
    less.text = TextOf(lets);
    less.lets = std::move(lets);
    if (ErrorOf(less, trial).empty()) return false;
    text = std::move(less);
    return true;
  };
  for (size_t size = 1; size < text.lets.size(); ++size) {
    if (fails({text.lets.begin(), text.lets.begin() + size})) break;
  }
  for (size_t k = text.lets.size() - 1; k-- > 0;) {
    std::vector<TextLet> lets = text.lets;
    const Shape& shape = lets[k].shape;
    if (!shape[RowKind::kBatch].empty()) continue;
    auto row = [&](RowKind kind) { return absl::StrJoin(shape[kind], ", "); };
    lets[k].text = absl::StrCat("{w9", k, ": ", Name(lets[k].dtype), "; o=[",
                                row(RowKind::kOutput), "]; i=[",
                                row(RowKind::kInput), "]}");
    fails(std::move(lets));
  }
  for (size_t k = text.lets.size() - 1; k-- > 0;) {
    std::vector<TextLet> lets = text.lets;
    lets.erase(lets.begin() + static_cast<int64_t>(k));
    fails(std::move(lets));
  }
}

void Shrink(RandomText& text, const CodeTrial& trial) {
  if (!text.lets.empty()) ShrinkGraph(text, trial);
  // Of one that is refused, a part may be right to be.
  if (text.einsum && text.einsum->is_right) return;
  if (!text.lets.empty() && text.lets_fit) return;
  if (!text.einsum) {
    ShrinkPart(text, trial,
               [](RandomText& t) -> std::string& { return t.text; });
  } else {
    ShrinkPart(text, trial,
               [](RandomText& t) -> std::string& { return t.einsum->spec; });
  }
  for (Shape& shape : text.operands) {
    for (Dims& row : shape.rows) {
      for (int64_t& size : row) {
        const int64_t before = std::exchange(size, 1);
        if (ErrorOf(text, trial).empty()) size = before;
      }
    }
  }
}

RandomText TextOf(const TextCampaignOptions& options, uint64_t seed) {
  return options.tiers.empty() ? MakeText(seed, options.corpus)
                               : MakeGraph(seed);
}

// The text that failed, made small.
TextFailure FailureOf(const TextCampaignOptions& options,
                      const FailedTrial& failed) {
  TextFailure failure = {.seed = failed.seed,
                         .text = TextOf(options, failed.seed),
                         .error = failed.result.text};
  const CodeTrial trial = {options.tiers, failed.seed};
  Shrink(failure.text, trial);
  std::string error = ErrorOf(failure.text, trial);
  if (!error.empty()) failure.error = std::move(error);
  return failure;
}

// The command that shows the text to a user, and what it is.
std::string Describe(const TextFailure& failure) {
  std::string text =
      absl::StrCat("seed ", failure.seed, ": ", failure.error,
                   "\n  bazel run //ocannl -- eval '", failure.text.text, "'");
  for (size_t k = 0; k < failure.text.operands.size(); ++k) {
    absl::StrAppend(&text, " --in=x", k,
                    "=range:", ToString(failure.text.operands[k]));
  }
  return text + "\n";
}

}  // namespace

TextCampaignResult RunTextCampaign(const TextCampaignOptions& options) {
  MakeRefusalsFatal();
  TextCampaignResult result;
  result.seed = options.seed;
  const TrialCount count = RunTrials<Progress>(
      {.seed = options.seed,
       .cases = options.texts,
       .seconds = options.seconds,
       .of_child = kTextsOfAChild,
       .child_seconds = kSecondsOfAChild},
      [&](uint64_t seed, Progress& progress) -> std::string {
        TextOutcome outcome =
            CheckInTime(TextOf(options, seed), {options.tiers, seed});
        if (!outcome.error.empty()) return outcome.error;
        ++progress.stages[outcome.stage];
        progress.open += outcome.open ? 1 : 0;
        return "";
      },
      [&](const Progress& progress, const FailedTrial* failed) {
        result.open += progress.open;
        for (size_t k = 0; k < result.stages.size(); ++k) {
          result.stages[k] += progress.stages[k];
        }
        if (failed != nullptr) {
          result.failures.push_back(FailureOf(options, *failed));
        }
        return static_cast<int64_t>(result.failures.size()) <
               options.max_failures;
      });
  result.texts = count.cases;
  result.seconds = count.seconds;
  return result;
}

std::string Report(const TextCampaignResult& result) {
  const auto texts = static_cast<double>(std::max<int64_t>(result.texts, 1));
  std::string text = absl::StrFormat(
      "seed %d, %d texts in %.1f s, %.0f a second\n", result.seed, result.texts,
      result.seconds, texts / result.seconds);
  for (int k = 0; k < TextOutcome::kNumStages; ++k) {
    absl::StrAppendFormat(&text, "  %s: %.2f %%\n",
                          Name(static_cast<TextOutcome::Stage>(k)),
                          100 * static_cast<double>(result.stages[k]) / texts);
  }
  absl::StrAppendFormat(&text, "  of open sizes: %.2f %%\n",
                        100 * static_cast<double>(result.open) / texts);
  for (const TextFailure& failure : result.failures) {
    text += Describe(failure);
  }
  if (result.failures.empty()) text += "no failures\n";
  return text;
}

}  // namespace ocannl::fuzz
