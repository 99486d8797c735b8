// SPDX-License-Identifier: Apache-2.0
#include "ocannl/tune/search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/tune/moves.h"
#include "ocannl/tune/sketch.h"

namespace ocannl::tune {
namespace {

using fuzz::Random;

constexpr int kRounds = 3;  // of a race
constexpr size_t kFinalists = 4;
constexpr int kMostTries = 40;     // for one new script
constexpr size_t kMostFaults = 3;  // that are told with their scripts
// Of the statements that run if all of them are in vectors.
constexpr double kMostOfIdeal = 3;
// More lines than the planner's; longer scripts are no longer searched.
constexpr size_t kMoreLines = 200;

// A script of the population.
struct Candidate {
  Lines lines;
  std::optional<Sketch> sketch;  // that wrote the lines
  LoopProgram program;
  double ratio = 0;
};

// Whether a nest has no other loops than `for`, so that the planner would
// schedule it.
bool IsLeftToPlanner(const LoopProgram& program) {
  for (const Stmt& stmt : program.body.stmts) {
    if (!std::holds_alternative<For>(stmt)) continue;
    bool is_plain = true;
    WalkLoops({{stmt}}, [&](const For& loop) {
      is_plain &= loop.kind == LoopKind::kFor;
    });
    if (is_plain) return true;
  }
  return false;
}

// The statements that run, those of lanes in vectors of `lanes`: a bound below
// the instructions.
double CountStatements(const Block& block, double lanes) {
  double count = 0;
  for (const Stmt& stmt : block.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr) {
      if (!std::holds_alternative<Comment>(stmt)) ++count;
      continue;
    }
    const auto extent = static_cast<double>(loop->extent);
    count +=
        CountStatements(loop->body, lanes) *
        (loop->kind == LoopKind::kVec ? std::ceil(extent / lanes) : extent);
  }
  return count;
}

class Evolution {
 public:
  Evolution(const Nest& nest, const Target& target,
            const SearchOptions& options, Race& race, Random& random)
      : nest_(nest), options_(options), race_(race), random_(random) {
    reference_ = PlannedProgram(nest);
    LegalScript canonical(nest.program);
    canonical.DoAll(nest.canonical);
    form_ = FindContraction(canonical.program(), target);
    lanes_ = static_cast<double>(target.vector_bytes) / sizeof(float);
    most_statements_ =
        kMostOfIdeal * CountStatements(nest.program.body, lanes_) / lanes_;
    if (options.from_planner) {
      most_statements_ =
          std::max(most_statements_,
                   kMostOfIdeal * CountStatements(reference_.body, lanes_));
    }
    // The reference is not to be timed against itself.
    known_.insert(Print(reference_));
    if (options.from_planner) {
      population_.push_back({.lines = PlannedLines(),
                             .sketch = std::nullopt,
                             .program = reference_,
                             .ratio = 1});
    }
  }

  Found Run() && {
    while (options_.goes_on()) {
      std::vector<Candidate> children;
      for (size_t k = 0; k < options_.generation; ++k) {
        std::optional<Candidate> child = MakeNew();
        if (child) children.push_back(*std::move(child));
      }
      if (children.empty()) break;
      RaceChildren(children);
    }
    RaceBest();
    Found found{.lines = {}, .program = {}, .counts = std::move(counts_)};
    if (!population_.empty()) {
      found.lines = std::move(population_[0].lines);
      found.program = std::move(population_[0].program);
      found.ratio = population_[0].ratio;
    }
    return found;
  }

 private:
  Lines PlannedLines() const {
    Lines lines = nest_.canonical;
    lines.insert(lines.end(), nest_.planned.begin(), nest_.planned.end());
    return lines;
  }

  // A legal script that makes a program nobody has raced.
  std::optional<Candidate> MakeNew() {
    for (int k = 0; k < kMostTries; ++k) {
      std::optional<Candidate> child = Make();
      if (child) return child;
    }
    return std::nullopt;
  }

  std::optional<Candidate> Make() {
    ++counts_.made;
    LegalScript script(nest_.program);
    std::optional<Sketch> sketch;
    const bool is_fresh = population_.empty() || random_.OneIn(8);
    if (is_fresh && form_) {
      sketch = RandomSketch(*form_, random_);
    } else if (!population_.empty()) {
      const Candidate& parent = Parent();
      if (parent.sketch && !random_.OneIn(3)) {
        sketch = Changed(*form_, *parent.sketch, random_);
      } else {
        script.DoAll(Mutated(nest_.program, parent.lines, random_));
      }
    } else {
      script.DoAll(Mutated(nest_.program, {}, random_));
    }
    if (sketch) {
      script.DoAll(nest_.canonical);
      WriteSketch(*form_, *sketch, script);
    }
    return Checked(script, sketch);
  }

  std::optional<Candidate> Checked(LegalScript& script,
                                   std::optional<Sketch> sketch) {
    const bool is_long =
        script.lines().size() > nest_.planned.size() + kMoreLines;
    const bool is_the_planners =
        !options_.from_planner && IsLeftToPlanner(script.program());
    if (is_long || is_the_planners || !script.Verify().ok()) {
      ++counts_.illegal;
      return std::nullopt;
    }
    ++(script.refused() == 0 ? counts_.legal : counts_.mended);
    if (!known_.insert(Print(script.program())).second) {
      ++counts_.known;
      return std::nullopt;
    }
    if (CountStatements(script.program().body, lanes_) > most_statements_) {
      ++counts_.slow;
      return std::nullopt;
    }
    return Candidate{
        .lines = script.lines(), .sketch = sketch, .program = script.program()};
  }

  // Without the planner's script, the first programs may be slow.
  double Cut() const { return options_.from_planner ? 1.5 : 10; }

  // The better of two (tournament selection).
  const Candidate& Parent() {
    const auto size = static_cast<int64_t>(population_.size());
    const int64_t a = random_.Below(size);
    const int64_t b = random_.Below(size);
    return population_[std::min(a, b)];
  }

  void RaceChildren(std::vector<Candidate>& children) {
    std::vector<const LoopProgram*> programs = {&reference_};
    for (const Candidate& child : children) programs.push_back(&child.program);
    const std::vector<Outcome> outcomes =
        race_.Run(programs, {.rounds = kRounds, .cut = Cut()});
    if (!outcomes[0].fault.empty()) return;  // The machine has no time for it.
    for (size_t k = 0; k < children.size(); ++k) {
      const Outcome& outcome = outcomes[k + 1];
      if (outcome.is_done) {
        ++counts_.timed;
        children[k].ratio = outcome.ratio;
        population_.push_back(std::move(children[k]));
      } else if (outcome.fault == "slow") {
        ++counts_.cut;
      } else {
        ++counts_.failed;
        if (counts_.faults.size() >= kMostFaults) continue;
        counts_.faults.push_back(absl::StrCat(
            outcome.fault, "\n", absl::StrJoin(children[k].lines, "\n")));
      }
    }
    SortPopulation();
    if (population_.size() > options_.population) {
      population_.resize(options_.population);
    }
  }

  // Times the first few again: the fastest of many is often lucky.
  void RaceBest() {
    population_.resize(std::min(population_.size(), kFinalists));
    std::vector<const LoopProgram*> programs = {&reference_};
    for (const Candidate& other : population_) {
      programs.push_back(&other.program);
    }
    if (programs.size() < 3) return;
    const std::vector<Outcome> outcomes =
        race_.Run(programs, {.rounds = kRounds, .cut = Cut()});
    for (size_t k = 0; k < population_.size(); ++k) {
      if (outcomes[k + 1].is_done) population_[k].ratio = outcomes[k + 1].ratio;
    }
    SortPopulation();
  }

  void SortPopulation() {
    absl::c_stable_sort(population_,
                        [](const Candidate& a, const Candidate& b) {
                          return a.ratio < b.ratio;
                        });
  }

  const Nest& nest_;
  const SearchOptions& options_;
  Race& race_;
  Random& random_;
  LoopProgram reference_;       // the planner's
  double lanes_ = 1;            // of f32 in a vector
  double most_statements_ = 0;  // more are not worth a race
  std::optional<Contracted> form_;
  std::vector<Candidate> population_;  // the fastest one first
  absl::flat_hash_set<std::string> known_;
  Counts counts_;
};

}  // namespace

void Counts::Add(const Counts& other) {
  made += other.made;
  legal += other.legal;
  mended += other.mended;
  illegal += other.illegal;
  known += other.known;
  timed += other.timed;
  cut += other.cut;
  slow += other.slow;
  failed += other.failed;
  faults.insert(faults.end(), other.faults.begin(), other.faults.end());
}

LoopProgram PlannedProgram(const Nest& nest) {
  LegalScript script(nest.program);
  script.DoAll(nest.canonical);
  script.DoAll(nest.planned);
  return script.program();
}

Found Search(const Nest& nest, const Target& target,
             const SearchOptions& options, Race& race, Random& random) {
  return Evolution(nest, target, options, race, random).Run();
}

}  // namespace ocannl::tune
