// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/trace.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/float_environment.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/concatenate.h"

namespace ocannl {
namespace {

using Clock = std::chrono::steady_clock;

// To measure these: `bazel run //experiments:bench_engine`.

// A sequence has come so often before it counts as one, and may be so long.
constexpr size_t kTimesSeen = 3;
constexpr size_t kLongestPeriod = 16;

// Sequences that are remembered, so that their code need not be compiled again.
constexpr size_t kMostSequences = 32;

// A sequence of several parts is compiled as one program from then on.
constexpr int64_t kRepetitionsBeforeCompiling = 64;

// About the latency that deferred runs may add to a read.
constexpr double kMostSecondsWaiting = 1e-3;
constexpr int64_t kMostRepetitionsWaiting = 4096;

// Static indices from here on are not deferred: the next one might overflow.
constexpr int64_t kGreatestWaiting = int64_t{1} << 62;

std::string NamesOf(absl::Span<const std::shared_ptr<const LinkedCode>> parts) {
  return absl::StrJoin(parts, ", ", [](std::string* out, const auto& part) {
    absl::StrAppend(out, part->program->name);
  });
}

}  // namespace

// The first `count` parts, one after the other.
void Trace::Sequence::RunParts(size_t count,
                               absl::Span<const int64_t> statics) const {
  for (size_t k = 0; k < count; ++k) {
    const LinkedCode& part = *parts[k];
    part.executable->Run(
        part.buffers,
        statics.subspan(first_static[k], part.program->statics.size()));
  }
}

// As Executable::Repeat.
void Trace::Sequence::Repeat(absl::Span<int64_t> statics,
                             absl::Span<const int64_t> steps,
                             int64_t count) const {
  DefaultFloatEnvironment guard;
  if (const LinkedCode* all =
          parts.size() == 1 ? parts[0].get() : whole.get()) {
    return all->executable->Repeat(all->buffers, statics, steps, count);
  }
  for (int64_t run = 0; run < count; ++run) {
    RunParts(parts.size(), statics);
    for (size_t k = 0; k < statics.size(); ++k) statics[k] += steps[k];
  }
}

Trace::Repeating::Repeating(Sequence* of)
    : sequence(of),
      slots(of->first_static.back()),
      first(slots.size()),
      steps(slots.size()) {}

void Trace::RunUnexpected(const Code& code, absl::Span<const int64_t> statics) {
  Sync();
  auto* searching = std::get_if<Searching>(&state_);
  if (searching == nullptr) searching = &state_.emplace<Searching>();
  DefaultFloatEnvironment guard;
  code->executable->Run(code->buffers, statics);
  std::vector<Code>& history = searching->history;
  if (history.size() == kTimesSeen * kLongestPeriod) {
    history.erase(history.begin(), history.begin() + kLongestPeriod);
    ForgetWhatIsGone();
  }
  history.push_back(code);
  FindPeriod(*searching);
}

// Routines that only the trace still holds would hold their arrays for nothing.
// Takes longer than a short run: not for every command.
void Trace::ForgetWhatIsGone() {
  absl::flat_hash_map<const LinkedCode*, int64_t> held;
  absl::flat_hash_set<const LinkedCode*> gone;
  auto count = [&](const Code& code) {
    if (++held[code.get()] == code.use_count()) gone.insert(code.get());
  };
  std::vector<Code>& history = std::get<Searching>(state_).history;
  absl::c_for_each(history, count);
  for (const auto& sequence : sequences_) {
    absl::c_for_each(sequence->parts, count);
  }
  if (gone.empty()) return;
  history.clear();
  std::erase_if(sequences_, [&](const auto& sequence) {
    return absl::c_any_of(sequence->parts, [&](const Code& part) {
      return gone.contains(part.get());
    });
  });
}

void Trace::FindPeriod(Searching& searching) {
  const std::vector<Code>& history = searching.history;
  for (size_t period = 1; kTimesSeen * period <= history.size(); ++period) {
    const auto tail = history.end() - static_cast<int64_t>(period);
    const auto begin =
        history.end() - static_cast<int64_t>(kTimesSeen * period);
    if (!std::equal(begin, tail, begin + static_cast<int64_t>(period))) {
      continue;
    }
    std::vector<Code> parts(tail, history.end());
    ForgetWhatIsGone();
    state_.emplace<Repeating>(FindOrAdd(std::move(parts)));
    return;
  }
}

Trace::Sequence* Trace::FindOrAdd(std::vector<Code> parts) {
  auto found = absl::c_find_if(sequences_, [&](const auto& sequence) {
    return sequence->parts == parts;
  });
  if (found != sequences_.end()) {
    std::rotate(found, found + 1, sequences_.end());
    return sequences_.back().get();
  }
  if (sequences_.size() == kMostSequences) sequences_.erase(sequences_.begin());
  auto sequence = std::make_unique<Sequence>();
  sequence->first_static = {0};
  for (const Code& part : parts) {
    sequence->first_static.push_back(sequence->first_static.back() +
                                     part->program->statics.size());
  }
  sequence->parts = std::move(parts);
  sequences_.push_back(std::move(sequence));
  return sequences_.back().get();
}

void Trace::AddRepetition(Repeating& state) {
  const bool is_alone = std::exchange(state.bits, 0) >= kGreatestWaiting;
  const bool is_predicted = std::exchange(state.differs, 0) == 0;
  state.position = 0;
  if (is_alone || (state.waiting > 1 && !is_predicted)) Flush(state);
  for (size_t k = 0; k < state.slots.size(); ++k) {
    auto& [index, predicted] = state.slots[k];
    if (state.waiting == 0) {
      state.first[k] = index;
    } else {
      if (state.waiting == 1) state.steps[k] = index - state.first[k];
      predicted = index + state.steps[k];
    }
  }
  ++state.waiting;
  if (is_alone || state.waiting >= state.sequence->most_waiting) Flush(state);
}

void Trace::Sync() {
  auto* state = std::get_if<Repeating>(&state_);
  if (state == nullptr) return;
  Flush(*state);
  if (state->position > 0) FlushPartial(*state);
}

void Trace::Flush(Repeating& state) {
  if (state.waiting == 0) return;
  if (state.waiting == 1) absl::c_fill(state.steps, 0);
  Sequence& sequence = *state.sequence;
  if (sequence.parts.size() > 1 && sequence.whole == nullptr &&
      sequence.error.empty() &&
      sequence.repetitions >= kRepetitionsBeforeCompiling) {
    CompileWhole(sequence);
  }
  // One alone, where more may wait, tells nothing new.
  const bool is_timed = state.waiting >= sequence.most_waiting;
  const Clock::time_point start = is_timed ? Clock::now() : Clock::time_point();
  sequence.Repeat(absl::MakeSpan(state.first), state.steps, state.waiting);
  if (is_timed) {
    const double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    const double per_repetition =
        std::max(seconds, 1e-9) / static_cast<double>(state.waiting);
    const double most =
        std::min({kMostSecondsWaiting / per_repetition,
                  2.0 * static_cast<double>(sequence.most_waiting),
                  static_cast<double>(kMostRepetitionsWaiting)});
    sequence.most_waiting = std::max<int64_t>(1, static_cast<int64_t>(most));
  }
  sequence.repetitions += state.waiting;
  ++sequence.loops;
  state.waiting = 0;
}

// Runs the parts of a repetition that came so far. The sequence goes on from
// there: who looks at this place once may do so each time.
void Trace::FlushPartial(Repeating& state) {
  DefaultFloatEnvironment guard;
  for (size_t k = 0; k < state.slots.size(); ++k) {
    state.first[k] = state.slots[k].index;
  }
  state.sequence->RunParts(state.position, state.first);
  std::vector<Code> parts = state.sequence->parts;
  std::rotate(parts.begin(),
              parts.begin() + static_cast<int64_t>(state.position),
              parts.end());
  state_.emplace<Repeating>(FindOrAdd(std::move(parts)));
}

void Trace::CompileWhole(Sequence& sequence) {
  auto compile = [&]() -> absl::StatusOr<Code> {
    std::vector<ProgramPart> parts;
    for (const Code& part : sequence.parts) {
      parts.push_back({.program = part->program.get(), .bound_to = {}});
      for (const auto& array : part->arrays) {
        parts.back().bound_to.push_back(array.get());
      }
    }
    Concatenation whole =
        Concatenate(absl::StrCat("trace_", ++num_programs_), parts);
    DeviceArrays arrays;
    for (const Concatenation::Origin& origin : whole.origins) {
      arrays.push_back(sequence.parts[origin.part]->arrays[origin.buffer]);
    }
    DefaultFloatEnvironment guard;
    OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                            device_->backend().CompileHot(whole.program));
    return LinkCode(
        *device_, std::make_shared<const LoopProgram>(std::move(whole.program)),
        std::move(executable), std::move(arrays));
  };
  absl::StatusOr<Code> whole = compile();
  if (whole.ok()) {
    sequence.whole = *std::move(whole);
  } else {
    sequence.error = std::string(whole.status().message());
  }
}

std::string Trace::Report() const {
  std::string text;
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    absl::StrAppend(&text, "trace [", NamesOf(sequence->parts),
                    "]: ", sequence->repetitions, " repetitions in ",
                    sequence->loops, " loops");
    if (sequence->whole != nullptr) {
      absl::StrAppend(&text, ", compiled as one program, ",
                      sequence->whole->program->name);
    } else if (!sequence->error.empty()) {
      absl::StrAppend(&text, ", one program cannot be: ", sequence->error);
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::vector<const LoopProgram*> Trace::Programs() const {
  std::vector<const LoopProgram*> programs;
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    if (sequence->whole == nullptr) continue;
    programs.push_back(sequence->whole->program.get());
  }
  return programs;
}

}  // namespace ocannl
