// SPDX-License-Identifier: Apache-2.0
#include "ocannl/tune/tune.h"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/schedule/rewrite/script.h"
#include "ocannl/core/tiering/cost/predict.h"
#include "ocannl/fuzz/programs/random.h"
#include "ocannl/tune/nests.h"
#include "ocannl/tune/search.h"

namespace ocannl::tune {
namespace {

constexpr int kDuelRounds = 5;      // of the last race of a nest's winner
constexpr double kDuelSeconds = 2;  // of such a round
// The interpreter does about 3e8 operations a second:
// `ocannl run FILE.ll --tier=interp --time` of a product of 512 x 512 x 512.
constexpr double kMostInterpreted = 4e9;
constexpr size_t kColumn = 46;  // characters of a script beside another

struct NestToTune {
  Nest nest;
  LoopProgram planned;  // after the planner's script
  double seconds;       // of a run of that
  double share = 0;     // of the program's time
};

struct TunedNest {
  Lines lines;       // the faster of the two scripts
  double ratio = 1;  // its time in the planner's
};

Lines PlannersLines(const Nest& nest) {
  Lines lines = nest.canonical;
  absl::c_copy(nest.planned, std::back_inserter(lines));
  return lines;
}

std::string Time(double seconds) {
  return absl::FormatDuration(absl::Seconds(seconds));
}

// The dearest nests, first those that take longest.
std::vector<NestToTune> Dearest(const LoopProgram& program,
                                const TuneOptions& options, Race& race) {
  std::vector<NestToTune> nests;
  double all = 0;
  for (Nest& nest : NestsOf(program, options.target)) {
    LoopProgram planned = PlannedProgram(nest);
    const Outcome outcome = race.Run({&planned}, {})[0];
    if (!outcome.is_done) continue;
    all += outcome.seconds;
    nests.push_back({.nest = std::move(nest),
                     .planned = std::move(planned),
                     .seconds = outcome.seconds});
  }
  absl::c_stable_sort(nests, [](const NestToTune& a, const NestToTune& b) {
    return a.seconds > b.seconds;
  });
  for (NestToTune& nest : nests) nest.share = nest.seconds / all;
  nests.resize(std::min(nests.size(), options.nests));
  return nests;
}

// Both scripts side by side.
std::string SideBySide(const Lines& left, const Lines& right) {
  std::string text;
  for (size_t k = 0; k < std::max(left.size(), right.size()); ++k) {
    absl::StrAppend(&text,
                    absl::StrFormat("  %-*s | %s\n", static_cast<int>(kColumn),
                                    k < left.size() ? left[k] : "",
                                    k < right.size() ? right[k] : ""));
  }
  return text;
}

std::string Describe(const Counts& counts, double seconds) {
  const auto made = static_cast<double>(counts.made);
  auto share = [&](int64_t count) {
    return absl::StrFormat("%.0f %%", 100 * static_cast<double>(count) / made);
  };
  if (counts.made == 0) return "no script was made\n";
  const int64_t ran = counts.timed + counts.cut;
  std::string text = absl::StrFormat(
      "%d scripts in %.1f s: %s legal, %s legal without lines that were "
      "refused,\n%s illegal; %s made a program that was known, and %s one of "
      "too many statements.\n%d schedules ran, %.0f a minute; %d of them were "
      "cut after the first runs.\n",
      counts.made, seconds, share(counts.legal), share(counts.mended),
      share(counts.illegal), share(counts.known), share(counts.slow), ran,
      60 * static_cast<double>(ran) / seconds, counts.cut);
  if (counts.failed > 0) {
    absl::StrAppend(&text, counts.failed, " failed, such as\n",
                    absl::StrJoin(counts.faults, "\n"), "\n");
  }
  return text;
}

class Tuner {
 public:
  Tuner(const LoopProgram& program, const TuneOptions& options, Race& race,
        std::ostream& out)
      : program_(program),
        options_(options),
        race_(race),
        out_(out),
        start_(options.clock()) {}

  absl::StatusOr<Tuned> Run() && {
    std::vector<NestToTune> nests = Dearest(program_, options_, race_);
    if (nests.empty()) {
      return UserError("`", program_.name, "` has no nest that can be tuned: ",
                       "scripts schedule loops without locals; ",
                       "`explain FILE.ll --stage=script` shows the planner's");
    }
    out_ << options_.head;
    double rest = 0;  // the share of the nests to come
    for (const NestToTune& nest : nests) rest += nest.share;
    fuzz::Random random(options_.seed);
    const double searched_from = options_.clock();
    Tuned tuned;
    Lines whole;
    for (const NestToTune& nest : nests) {
      const double left = options_.seconds - Elapsed();
      OCANNL_ASSIGN_OR_RETURN(
          const TunedNest best,
          TuneNest(nest, std::max(0.0, left * nest.share / rest), random));
      rest -= nest.share;
      if (best.ratio <= 1 - kLeastGain) {
        ++tuned.faster_nests;
        absl::StrAppend(&missed_,
                        absl::StrFormat("  %s: %.2f of the planner's time\n",
                                        nest.nest.name, best.ratio));
      }
      AddTo(whole, tuned.script, nest, best);
    }
    out_ << "\n" << Describe(counts_, options_.clock() - searched_from);
    OCANNL_RETURN_IF_ERROR(TellWhole(whole, tuned));
    return tuned;
  }

 private:
  std::vector<Outcome> Duel(const LoopProgram& planned,
                            const LoopProgram& found) {
    return race_.Run({&planned, &found},
                     {.rounds = kDuelRounds, .round_seconds = kDuelSeconds});
  }

  double Elapsed() const { return options_.clock() - start_; }

  absl::StatusOr<TunedNest> TuneNest(const NestToTune& nest, double seconds,
                                     fuzz::Random& random) {
    const double until = options_.clock() + seconds;
    Found found = Search(
        nest.nest, options_.target,
        {.goes_on =
             [&] { return options_.clock() < until && !options_.stops(); },
         .from_planner = options_.from_planner},
        race_, random);
    counts_.Add(found.counts);
    TunedNest best{.lines = PlannersLines(nest.nest)};
    out_ << "\n"
         << nest.nest.name << ": " << Time(nest.seconds)
         << absl::StrFormat(", %.1f %% of the program\n", 100 * nest.share);
    if (found.lines.empty() || found.lines == best.lines) {
      out_ << "  nothing found that is faster than the planner's script\n";
      return best;
    }
    const std::vector<Outcome> duel = Duel(nest.planned, found.program);
    if (!duel[1].is_done) {
      out_ << "  the script that was found fails: " << duel[1].fault << "\n";
      return best;
    }
    out_ << absl::StrFormat(
        "  %-*s | %s\n", static_cast<int>(kColumn),
        absl::StrCat("the planner's: ", Time(duel[0].seconds)),
        absl::StrFormat("found: %s, %.2f of the planner's time",
                        Time(duel[1].seconds), duel[1].ratio));
    out_ << SideBySide(best.lines, found.lines);
    OCANNL_RETURN_IF_ERROR(
        Prove(nest.nest.program, found.program, "this nest"));
    if (duel[1].ratio < 1) best = {found.lines, duel[1].ratio};
    return best;
  }

  // Races compare the bits of all programs with the planner's.
  absl::Status Prove(const LoopProgram& before, const LoopProgram& after,
                     absl::string_view what) {
    if (Predict(before).operations > kMostInterpreted) {
      out_ << "  " << what << " has the bits of the planner's schedule; it is "
           << "too long for the interpreter\n";
      return absl::OkStatus();
    }
    const std::string difference = race_.Proof(before, after);
    if (!difference.empty()) {
      return absl::InternalError(
          absl::StrCat(what, " differs from the interpreter: ", difference));
    }
    out_ << "  " << what << " has the interpreter's bits\n";
    return absl::OkStatus();
  }

  // Adds the lines of a nest to those of the whole program.
  void AddTo(Lines& whole, std::string& script, const NestToTune& nest,
             const TunedNest& best) {
    Lines more = whole;
    absl::c_copy(best.lines, std::back_inserter(more));
    absl::StatusOr<Lines> kept = LinesForWhole(program_, more);
    if (!kept.ok()) {
      out_ << "  the whole program cannot have it: " << kept.status().message()
           << "\n";
      return;
    }
    absl::StrAppend(
        &script, "# ", nest.nest.name,
        absl::StrFormat(": %.2f of the planner's time\n", best.ratio));
    for (size_t k = whole.size(); k < kept->size(); ++k) {
      absl::StrAppend(&script, (*kept)[k], "\n");
    }
    whole = *std::move(kept);
  }

  // The whole program, by the planner and by the script.
  absl::Status TellWhole(const Lines& whole, Tuned& tuned) {
    OCANNL_ASSIGN_OR_RETURN(
        const LoopProgram after,
        rewrite::RunScript(program_, absl::StrJoin(whole, "\n")));
    const std::vector<Outcome> duel = Duel(program_, after);
    if (!duel[1].is_done) {
      return absl::InternalError(
          absl::StrCat("the whole program fails: ", duel[1].fault));
    }
    tuned.ratio = duel[1].ratio;
    out_ << "\n"
         << program_.name << ": " << Time(duel[1].seconds) << ", "
         << absl::StrFormat("%.2f of the planner's ", duel[1].ratio)
         << Time(duel[0].seconds)
         << (missed_.empty()
                 ? absl::StrFormat("; no nest is %.0f %% faster or more\n",
                                   100 * kLeastGain)
                 : absl::StrCat("; the planner missed\n", missed_));
    return Prove(program_, after, program_.name);
  }

  const LoopProgram& program_;
  const TuneOptions& options_;
  Race& race_;
  std::ostream& out_;
  const double start_;
  Counts counts_;
  std::string missed_;  // the nests where the planner is slower
};

}  // namespace

absl::StatusOr<Tuned> Tune(const LoopProgram& program,
                           const TuneOptions& options, Race& race,
                           std::ostream& out) {
  return Tuner(program, options, race, out).Run();
}

}  // namespace ocannl::tune
