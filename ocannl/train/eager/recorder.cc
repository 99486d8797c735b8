// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/eager/recorder.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"

namespace ocannl::train {
namespace {

// More are those of a step that is another one each time.
constexpr size_t kMostTapes = 32;

// Of the process; sessions take many at once.
constexpr uint64_t kEpochsAtOnce = 1 << 16;

uint64_t NextEpochs() {
  static std::atomic<uint64_t> epochs = kEpochsAtOnce;
  return epochs.fetch_add(kEpochsAtOnce, std::memory_order_relaxed);
}

bool SameArray(const std::shared_ptr<const NdArray>& a,
               const std::shared_ptr<const NdArray>& b) {
  if (a == b) return true;
  return a != nullptr && b != nullptr && SameBits(*a, *b);
}

}  // namespace

Recorder::Recorder(RecorderOptions options) : options_(std::move(options)) {
  epoch_ = kEpochsAtOnce - 1;
  Begin();
}

void Recorder::Begin() {
  if (++epoch_ % kEpochsAtOnce == 0) epoch_ = NextEpochs();
  next_ = 0;
  is_over_ = false;
  if (!status_.ok()) status_ = absl::OkStatus();
}

absl::Status Recorder::Check(Ref x) const {
  if (IsOfStep(x) || !status_.ok()) return status_;
  return absl::FailedPreconditionError(
      "a tensor of another step or session, or of no step; make it in this "
      "one");
}

Dims Recorder::dims(Ref x) const {
  return IsOfStep(x) ? tape_->dims(x.slot()) : Dims{};
}

DType Recorder::dtype(Ref x) const {
  return IsOfStep(x) ? tape_->dtype(x.slot()) : DType::kF32;
}

std::string Recorder::TapeText() const {
  return tape_ == nullptr ? "" : tape_->Text();
}

void Recorder::Enter(Tape* tape) {
  tape_ = tape;
  tape_->set_last_step(epoch_);
  calls_ = tape->calls();
  signatures_ = tape->signatures();
}

void Recorder::Drop(const Tape* tape) {
  OnDrop(*tape);
  if (tape == tape_) {
    tape_ = nullptr;
    calls_ = {};
    signatures_ = {};
  }
  std::erase_if(tapes_, [&](const auto& each) { return each.get() == tape; });
}

absl::Status Recorder::StartTape() {
  if (tapes_.size() == kMostTapes) {
    const auto oldest = std::min_element(
        tapes_.begin(), tapes_.end(), [&](const auto& a, const auto& b) {
          return std::pair(a.get() == tape_, a->last_step()) <
                 std::pair(b.get() == tape_, b->last_step());
        });
    Drop(oldest->get());
  }
  tapes_.push_back(std::make_unique<Tape>(options_.seed, num_tapes_++));
  Tape* tape = tapes_.back().get();
  Tape* before = std::exchange(tape_, tape);
  for (uint32_t slot = 0; slot < next_; ++slot) {
    OCANNL_RETURN_IF_ERROR(
        tape->Append(before->calls()[slot], before->leaf(slot)));
  }
  Enter(tape);
  return absl::OkStatus();
}

// `call` is not what comes next on the tape: goes on with a tape on which it
// does, else with a new one.
absl::Status Recorder::Diverge(const OpCall& call) {
  const OpCall& expected = calls_[next_];
  const std::string what = absl::StrCat(
      "operation ", next_, " is ", ToString(call), " (", ToString(call.where),
      "), and was ", ToString(expected), " (", ToString(expected.where), ")");
  if (tape_->is_fixed() && !IsArg(call) && !IsArg(expected)) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, ": a loss that is compiled must do the same in ",
                     "each step; what changes must be an input"));
  }
  auto fits = [&](const std::unique_ptr<Tape>& tape) {
    const std::vector<OpCall>& calls = tape->calls();
    return calls.size() > next_ && SameCall(calls[next_], call) &&
           std::equal(calls.begin(), calls.begin() + next_, calls_.begin(),
                      SameCall);
  };
  const auto found = std::find_if(tapes_.begin(), tapes_.end(), fits);
  if (found == tapes_.end()) {
    if (options_.on_change) options_.on_change(what);
    return StartTape();
  }
  Tape* const before = tape_;
  Enter(found->get());
  for (uint32_t slot = 0; slot < next_; ++slot) {
    tape_->leaf(slot) = before->leaf(slot);
  }
  leaves_changed_ = true;
  return absl::OkStatus();
}

Ref Recorder::RepeatUpTo(uint32_t slot) {
  CHECK_LT(slot, calls_.size());
  next_ = std::max(next_, slot + 1);
  return {slot, epoch_};
}

Ref Recorder::AddLeaf(const Operation& op, LeafType type, LeafValue value,
                      Where at) {
  return RecordWith({.op = &op,
                     .operands = {},
                     .args = std::make_shared<const LeafType>(std::move(type)),
                     .trains = trains_,
                     .where = at},
                    std::move(value));
}

Ref Recorder::RecordWith(OpCall call, LeafValue value) {
  if (!status_.ok()) return {};
  if (is_over_) {
    return Fail(absl::FailedPreconditionError(absl::StrCat(
        call.op->name, " (", ToString(call.where),
        "): the step ended with its ", "update; Begin the next one")));
  }
  if (next_ < calls_.size() && !SameCall(calls_[next_], call)) {
    if (absl::Status status = Diverge(call); !status.ok()) return Fail(status);
  }
  if (tape_ == nullptr) {
    if (absl::Status status = StartTape(); !status.ok()) return Fail(status);
  }
  if (next_ < calls_.size()) {
    LeafValue& leaf = tape_->leaf(next_);
    leaf.index = value.index;
    if (!SameArray(leaf.array, value.array)) {
      if (call.op == &kConst && tape_->is_fixed()) {
        return Fail(absl::FailedPreconditionError(absl::StrCat(
            "Const (", ToString(call.where), ") has other values than when ",
            "the loss was compiled; what changes must be an input")));
      }
      leaf.array = std::move(value.array);
      leaves_changed_ = true;
    }
    return {next_++, epoch_};
  }
  if (next_ >> kSlotBits != 0) {
    return Fail(absl::ResourceExhaustedError(
        absl::StrCat("a step of more than ", next_, " operations")));
  }
  absl::Status status = tape_->Append(call, std::move(value));
  if (!status.ok()) return Fail(status);
  Enter(tape_);
  leaves_changed_ = true;
  status = OnRecord(next_);
  if (!status.ok()) {
    Drop(tape_);
    return Fail(status);
  }
  return {next_++, epoch_};
}

Ref Recorder::AddConst(std::shared_ptr<const NdArray> value, Where at) {
  if (value == nullptr || value->size() == 0) {
    return Fail(UserError("Const (", ToString(at), "): there are no cells"));
  }
  LeafType type = {.dtype = value->dtype(), .dims = value->dims()};
  return AddLeaf(kConst, std::move(type),
                 {.array = std::move(value), .index = 0, .name = ""}, at);
}

}  // namespace ocannl::train
