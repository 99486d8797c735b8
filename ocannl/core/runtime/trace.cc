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
    absl::StrAppend(out, part->program.name);
  });
}

}  // namespace

void Trace::Enqueue(absl::Span<const int64_t> statics) {
  absl::c_copy(statics, next_.begin() + static_cast<int64_t>(
                                            current_->first_static[position_]));
  if (++position_ == current_->parts.size()) AddRepetition();
}

void Trace::RunUnexpected(const Code& code, absl::Span<const int64_t> statics) {
  if (current_ != nullptr) {
    Sync();
    current_ = nullptr;
  }
  DefaultFloatEnvironment guard;
  code->executable->Run(code->buffers, statics);
  if (history_.size() == kTimesSeen * kLongestPeriod) {
    history_.erase(history_.begin(), history_.begin() + kLongestPeriod);
    ForgetWhatIsGone();
  }
  history_.push_back(code);
  FindPeriod();
}

// Routines that only the trace still holds would hold their arrays for nothing.
// Takes longer than a short run: not for every command.
void Trace::ForgetWhatIsGone() {
  absl::flat_hash_map<const LinkedCode*, int64_t> held;
  absl::flat_hash_set<const LinkedCode*> gone;
  auto count = [&](const Code& code) {
    if (++held[code.get()] == code.use_count()) gone.insert(code.get());
  };
  absl::c_for_each(history_, count);
  for (const auto& sequence : sequences_) {
    absl::c_for_each(sequence->parts, count);
  }
  if (gone.empty()) return;
  history_.clear();
  std::erase_if(sequences_, [&](const auto& sequence) {
    return absl::c_any_of(sequence->parts, [&](const Code& part) {
      return gone.contains(part.get());
    });
  });
}

void Trace::FindPeriod() {
  for (size_t period = 1; kTimesSeen * period <= history_.size(); ++period) {
    const auto tail = history_.end() - static_cast<int64_t>(period);
    const auto begin =
        history_.end() - static_cast<int64_t>(kTimesSeen * period);
    if (!std::equal(begin, tail, begin + static_cast<int64_t>(period))) {
      continue;
    }
    std::vector<Code> parts(tail, history_.end());
    ForgetWhatIsGone();
    return Enter(std::move(parts));
  }
}

void Trace::Enter(std::vector<Code> parts) {
  history_.clear();
  current_ = FindOrAdd(std::move(parts));
  position_ = 0;
  waiting_ = 0;
  const size_t count = current_->first_static.back();
  for (std::vector<int64_t>* statics :
       {&next_, &first_, &steps_, &predicted_}) {
    statics->resize(count);
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
                                     part->program.statics.size());
  }
  sequence->parts = std::move(parts);
  sequences_.push_back(std::move(sequence));
  return sequences_.back().get();
}

void Trace::AddRepetition() {
  position_ = 0;
  const bool is_alone = absl::c_any_of(
      next_, [](int64_t index) { return index >= kGreatestWaiting; });
  if (is_alone || (waiting_ > 1 && next_ != predicted_)) Flush();
  if (waiting_ == 0) {
    first_ = next_;
  } else {
    for (size_t k = 0; k < next_.size(); ++k) {
      if (waiting_ == 1) steps_[k] = next_[k] - first_[k];
      predicted_[k] = next_[k] + steps_[k];
    }
  }
  ++waiting_;
  if (is_alone || waiting_ >= current_->most_waiting) Flush();
}

void Trace::Sync() {
  if (current_ == nullptr) return;
  Flush();
  if (position_ > 0) FlushPartial();
}

void Trace::Flush() {
  if (waiting_ == 0) return;
  if (waiting_ == 1) absl::c_fill(steps_, 0);
  Sequence& sequence = *current_;
  if (sequence.parts.size() > 1 && sequence.whole == nullptr &&
      sequence.error.empty() &&
      sequence.repetitions >= kRepetitionsBeforeCompiling) {
    CompileWhole(sequence);
  }
  // One alone, where more may wait, tells nothing new.
  const bool is_timed = waiting_ >= sequence.most_waiting;
  const Clock::time_point start = is_timed ? Clock::now() : Clock::time_point();
  RunLoop();
  if (is_timed) {
    const double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    const double per_repetition =
        std::max(seconds, 1e-9) / static_cast<double>(waiting_);
    const double most =
        std::min({kMostSecondsWaiting / per_repetition,
                  2.0 * static_cast<double>(sequence.most_waiting),
                  static_cast<double>(kMostRepetitionsWaiting)});
    sequence.most_waiting = std::max<int64_t>(1, static_cast<int64_t>(most));
  }
  sequence.repetitions += waiting_;
  ++sequence.loops;
  waiting_ = 0;
}

void Trace::RunLoop() {
  DefaultFloatEnvironment guard;
  const Sequence& sequence = *current_;
  const LinkedCode* whole = sequence.parts.size() == 1 ? sequence.parts[0].get()
                                                       : sequence.whole.get();
  if (whole != nullptr) {
    return whole->executable->Repeat(whole->buffers, absl::MakeSpan(first_),
                                     steps_, waiting_);
  }
  for (int64_t run = 0; run < waiting_; ++run) {
    RunParts(sequence.parts.size(), first_);
    for (size_t k = 0; k < first_.size(); ++k) first_[k] += steps_[k];
  }
}

// The first `count` parts of the current sequence, one after the other.
void Trace::RunParts(size_t count, absl::Span<const int64_t> statics) const {
  for (size_t k = 0; k < count; ++k) {
    const LinkedCode& part = *current_->parts[k];
    part.executable->Run(part.buffers,
                         statics.subspan(current_->first_static[k],
                                         part.program.statics.size()));
  }
}

// Runs the parts of a repetition that came so far. The sequence goes on from
// there: who looks at this place once may do so each time.
void Trace::FlushPartial() {
  DefaultFloatEnvironment guard;
  RunParts(position_, next_);
  std::vector<Code> parts = current_->parts;
  std::rotate(parts.begin(), parts.begin() + static_cast<int64_t>(position_),
              parts.end());
  Enter(std::move(parts));
}

void Trace::CompileWhole(Sequence& sequence) {
  auto compile = [&]() -> absl::StatusOr<Code> {
    std::vector<ProgramPart> parts;
    for (const Code& part : sequence.parts) {
      parts.push_back({.program = &part->program, .bound_to = {}});
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
    return LinkCode(*device_, std::move(whole.program), std::move(executable),
                    std::move(arrays));
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
                      sequence->whole->program.name);
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
    programs.push_back(&sequence->whole->program);
  }
  return programs;
}

}  // namespace ocannl
