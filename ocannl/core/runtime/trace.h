// SPDX-License-Identifier: Apache-2.0
//
// Trace: the command queue of a stream, with a tracing compiler. Commands that
// repeat are deferred, and run as one loop.
//
//   step(0) log(0) step(1) log(1) ... step(79) log(79) Sync
//     ->  80 times: step(k += 1) log(k += 1)
//
// The commands themselves are the trace: nothing is recorded besides, and
// nothing is speculated. Once a sequence of routines has come three times, its
// repetitions are deferred until somebody looks at a result, or until there are
// enough of them. They then run as one loop, in which each static index is an
// induction variable. A repetition that does not fit begins the next loop, so
// nothing ever needs to be rolled back. A sequence that keeps coming is hot: it
// is compiled as one program, across the borders of its routines.
//
//   Searching --a sequence came three times--> Repeating, with 0, 1, ... whole
//             <--another command--             repetitions that wait
#ifndef OCANNL_CORE_RUNTIME_TRACE_H_
#define OCANNL_CORE_RUNTIME_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/loop/ir.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/linked_code.h"

namespace ocannl {

// Not thread-safe.
class Trace {
 public:
  // The device must outlive the trace.
  explicit Trace(const Device* device) : device_(device) {}

  // One run of `code`, now or at the next Sync at the latest.
  void Run(const std::shared_ptr<const LinkedCode>& code,
           absl::Span<const int64_t> statics) {
    auto* state = std::get_if<Repeating>(&state_);
    if (state == nullptr || !state->Expects(code.get())) {
      return RunUnexpected(code, statics);
    }
    if (state->Add(statics)) AddRepetition(*state);
  }

  // Does what was deferred.
  void Sync();

  // The sequences found so far, a line each.
  std::string Report() const;

  // The programs that sequences were compiled as, to be used before the next
  // Run or Sync. Named trace_1, trace_2, ...
  std::vector<const LoopProgram*> Programs() const;

 private:
  using Code = std::shared_ptr<const LinkedCode>;

  // Routines that come again and again in this order.
  struct Sequence {
    std::vector<Code> parts;
    std::vector<size_t> first_static;  // of each part; at the end: their number
    Code whole;         // all parts as one program; null: not compiled
    std::string error;  // why it cannot be
    int64_t repetitions = 0;
    int64_t loops = 0;
    int64_t most_waiting = 1;

    void RunParts(size_t count, absl::Span<const int64_t> statics) const;
    void Repeat(absl::Span<int64_t> statics, absl::Span<const int64_t> steps,
                int64_t count) const;
  };

  // No sequence repeats: each command runs at once.
  struct Searching {
    std::vector<Code> history;  // the last commands
  };

  // The commands of a sequence are deferred while they come in its order.
  // Static indices of all parts are adjacent.
  struct Repeating {
    explicit Repeating(Sequence* of);

    bool Expects(const LinkedCode* code) const {
      return sequence->parts[position].get() == code;
    }
    // The next command; whether it ends a repetition.
    bool Add(absl::Span<const int64_t> statics) {
      Slot* slot = slots.data() + sequence->first_static[position];
      for (int64_t index : statics) {
        slot->index = index;
        differs |= index ^ slot->predicted;
        bits |= index;
        ++slot;
      }
      return ++position == sequence->parts.size();
    }

    struct Slot {
      int64_t index;
      int64_t predicted;  // if two repetitions wait
    };

    Sequence* sequence;
    // The repetition that comes.
    size_t position = 0;      // parts of it that came
    std::vector<Slot> slots;  // their static indices
    int64_t differs = 0;      // bits in which those are not the predicted ones
    int64_t bits = 0;         // bits that one of them has
    // The whole ones, which become one loop.
    int64_t waiting = 0;
    std::vector<int64_t> first;  // the static indices of the first of them
    std::vector<int64_t> steps;  // by which they grow, if two wait
  };

  void RunUnexpected(const Code& code, absl::Span<const int64_t> statics);
  void ForgetWhatIsGone();
  void FindPeriod(Searching& searching);
  Sequence* FindOrAdd(std::vector<Code> parts);
  void AddRepetition(Repeating& state);
  void Flush(Repeating& state);
  void FlushPartial(Repeating& state);
  void CompileWhole(Sequence& sequence);

  const Device* device_;
  std::vector<std::unique_ptr<Sequence>> sequences_;  // the latest last
  int num_programs_ = 0;  // of those that were compiled as one
  std::variant<Searching, Repeating> state_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_TRACE_H_
