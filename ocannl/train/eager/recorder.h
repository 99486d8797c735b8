// SPDX-License-Identifier: Apache-2.0
//
// Recorder: the half of a session that records steps as tapes, define-by-run,
// and recognises those that repeat.
//
// The guard is the tape itself: each operation, its operands, arguments and
// shapes are compared with what was recorded. A step that differs is recorded
// from there on and kept beside the others, so that a last batch that is
// smaller, or the other way of a branch, has a tape of its own.
#ifndef OCANNL_TRAIN_EAGER_RECORDER_H_
#define OCANNL_TRAIN_EAGER_RECORDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ocannl/train/eager/ops.h"
#include "ocannl/train/eager/tape.h"

namespace ocannl::train {

struct RecorderOptions {
  uint32_t seed = 0;
  // Is told when a step becomes another one than all that were recorded; none:
  // nobody.
  std::function<void(absl::string_view what)> on_change = nullptr;
};

class Recorder : public Ops {
 public:
  // A step begins; Refs so far are stale, and errors forgotten.
  void Begin();

  Dims dims(Ref x) const override;
  DType dtype(Ref x) const override;

  // The operations of the step, a line each (Tape::Text).
  std::string TapeText() const;
  // The number of the tape that the step is on so far, from 0; -1: none yet.
  int tape_number() const { return tape_ == nullptr ? -1 : tape_->number(); }
  // How many tapes there were; steps that repeat make none.
  int64_t recordings() const { return num_tapes_; }

 protected:
  friend class ScalarTrainer;  // of compiled losses, which do not record again

  explicit Recorder(RecorderOptions options);

  // From now on, it is an error that a step on the tape of this step has other
  // constants, or other operations, but for what it is given.
  void FixTape() {
    if (tape_ != nullptr) tape_->set_fixed();
  }
  // The result of operation `slot` of that tape, which it has, as if the step
  // had come to it.
  Ref RepeatUpTo(uint32_t slot);

  Ref AddLeaf(const Operation& op, LeafType type, LeafValue value,
              Where at = {});
  Ref Record(OpCall call) override { return RecordWith(std::move(call), {}); }
  Ref AddConst(std::shared_ptr<const NdArray> value, Where at) override;

  // The tape of the step, as far as it came; null: it has no operation.
  Tape* tape() const { return tape_; }
  bool IsOfStep(Ref x) const {
    return status_.ok() && x.epoch() == epoch_ && x.slot() < next_;
  }
  // No operation may follow in this step.
  void EndStep() { is_over_ = true; }
  bool is_over() const { return is_over_; }
  // Error: x is not of this step, or the step has failed.
  absl::Status Check(Ref x) const;

  // Was recorded just now. On an error the tape is dropped.
  virtual absl::Status OnRecord(uint32_t slot) = 0;
  // Is not needed any more.
  virtual void OnDrop(const Tape& tape) = 0;

  // Whether values of leaves have changed, until who looks at it has cleared
  // it.
  bool leaves_changed_ = false;

 private:
  Ref RecordWith(OpCall call, LeafValue value);
  absl::Status Diverge(const OpCall& call);
  void Drop(const Tape* tape);
  absl::Status StartTape();
  void Enter(Tape* tape);

  const RecorderOptions options_;
  std::vector<std::unique_ptr<Tape>> tapes_;
  Tape* tape_ = nullptr;
  int num_tapes_ = 0;
  bool is_over_ = false;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_EAGER_RECORDER_H_
