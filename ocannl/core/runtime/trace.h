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
// induction variable; a repetition that does not fit begins the next loop, so
// there is never anything to roll back. A sequence that keeps coming is hot: it
// is compiled as one program, across the borders of its routines.
#ifndef OCANNL_CORE_RUNTIME_TRACE_H_
#define OCANNL_CORE_RUNTIME_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
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
    if (!IsNext(code.get())) return RunUnexpected(code, statics);
    Enqueue(statics);
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
  };

  bool IsNext(const LinkedCode* code) const {
    return current_ != nullptr && current_->parts[position_].get() == code;
  }
  void Enqueue(absl::Span<const int64_t> statics);
  void RunUnexpected(const Code& code, absl::Span<const int64_t> statics);
  void ForgetWhatIsGone();
  void FindPeriod();
  void Enter(std::vector<Code> parts);
  Sequence* FindOrAdd(std::vector<Code> parts);
  void AddRepetition();
  void Flush();
  void RunLoop();
  void RunParts(size_t count, absl::Span<const int64_t> statics) const;
  void FlushPartial();
  void CompileWhole(Sequence& sequence);

  const Device* device_;
  std::vector<Code> history_;  // the last commands, while none repeats
  std::vector<std::unique_ptr<Sequence>> sequences_;  // the latest last
  int num_programs_ = 0;         // of those that were compiled as one
  Sequence* current_ = nullptr;  // what is expected to come; null: nothing

  // Of the current sequence. Static indices of all parts are adjacent.
  size_t position_ = 0;             // parts of the next repetition that came
  std::vector<int64_t> next_;       // the static indices of those
  int64_t waiting_ = 0;             // whole repetitions
  std::vector<int64_t> first_;      // the static indices of the first of them
  std::vector<int64_t> steps_;      // by which they grow, if two wait
  std::vector<int64_t> predicted_;  // of the next repetition, if two wait
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_TRACE_H_
