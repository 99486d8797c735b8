// SPDX-License-Identifier: Apache-2.0
//
// Session: runs steps that are written with Ops. A step that repeats is one
// native routine from the second time on:
//
//   Session session(&backend, {});
//   session.Begin();
//   OCANNL_RETURN_IF_ERROR(session.Use(params, {x, y}));
//   Ref loss = MeanSquares(session, session.args());
//   OCANNL_RETURN_IF_ERROR(session.Update(loss, rule, 0.1));
//
// An eager session computes each operation when it is recorded (recorder.h):
// its errors come then, its values can be read, and code may branch on them. Of
// a step that repeats it computes only what comes up to what is read, and the
// step as a whole where that is asked for. The bits are the same. A step may
// fail, or throw, at any place; the next Begin starts clean.
#ifndef OCANNL_TRAIN_EAGER_SESSION_H_
#define OCANNL_TRAIN_EAGER_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/train/data/data_limit.h"
#include "ocannl/train/eager/op_by_op.h"
#include "ocannl/train/eager/ops.h"
#include "ocannl/train/eager/param_list.h"
#include "ocannl/train/eager/recorder.h"
#include "ocannl/train/eager/tape.h"
#include "ocannl/train/eager/tape_routine.h"
#include "ocannl/train/optim/rule.h"

namespace ocannl::train {

// What a step is given: an array, whose values nobody may change afterwards, or
// the value of an index in [0, range), for SelectLeading.
struct Index {
  int64_t value;
  int64_t range;
};
class TrainerInput {
 public:
  TrainerInput(std::shared_ptr<const NdArray> array)  // NOLINT
      : value_(std::move(array)) {}
  TrainerInput(NdArray array)  // NOLINT
      : value_(std::make_shared<const NdArray>(std::move(array))) {}
  TrainerInput(Index index) : value_(index) {}  // NOLINT

  const std::variant<std::shared_ptr<const NdArray>, Index>& value() const {
    return value_;
  }

 private:
  std::variant<std::shared_ptr<const NdArray>, Index> value_;
};

// A learning rate of one cell that is a function of the number of the step.
using RateSchedule = std::function<Tensor(Graph& graph, int32_t step)>;

struct SessionOptions {
  uint32_t seed = 0;
  bool track_gradients = true;  // false: no gradients and no updates
  // False: nothing has a value but a whole step.
  bool is_eager = true;
  // Is told when a step becomes another one than all that were recorded; none:
  // nobody.
  std::function<void(absl::string_view what)> on_change = nullptr;
};

// Neither moves nor copies. Not thread-safe.
class Session : public Recorder {
 public:
  // The backend must outlive the session.
  Session(const Backend* backend, const SessionOptions& options);
  // The parameters have their values on the host then.
  ~Session() override;

  // Recorded first in each step: the parameters, the same list in each, but
  // for those of blocks (calls.h), which join the list with the first call; and
  // inputs, which have no gradient. They are args() then. Errors:
  // parameters of another session, or not the same; an index out of range; an
  // array without cells; a step that has begun without them.
  absl::Status Use(const ParamList& params,
                   absl::Span<const TrainerInput> inputs);
  absl::Span<const Ref> args() const { return used_; }

  // Only says which parameters they are, as Use does.
  absl::Status UseParams(const ParamList& params);

  absl::StatusOr<NdArray> Value(Ref x) override;

  // Error: no tensor of this step with one cell.
  absl::Status CheckLoss(Ref loss) const;

  // The loss, a tensor of one cell, by the step so far as one routine. Errors:
  // of the step, and of compiling and running.
  absl::StatusOr<double> LossValue(Ref loss);

  // Its gradients by each of `of`: zeros by what it does not depend on and by
  // what requires none. Errors: also that gradients are not tracked.
  struct LossAndGradients {
    double loss;
    std::vector<NdArray> gradients;
  };
  absl::StatusOr<LossAndGradients> Gradients(Ref loss,
                                             absl::Span<const Ref> of);
  // Likewise by each of the parameters, in their order, with those of blocks.
  absl::StatusOr<LossAndGradients> ParamGradients(Ref loss);

  // One step of `rule` for the parameters that require a gradient and that the
  // gradient of the loss reaches; it ends the step: what was computed in it is
  // of other parameters then. All other parameters stay as they are, as do
  // their states: Detach freezes what only it reaches. The rate is a number, or
  // none for that of the schedule. States of a rule begin with 0 and are kept
  // whatever the tape. Errors: also a null rule; a rate that is negative or not
  // finite; no rate and no schedule. Nothing is changed then.
  absl::Status Update(Ref loss, const std::shared_ptr<const UpdateRule>& rule,
                      std::optional<double> rate);
  void set_schedule(RateSchedule schedule);

  // The loss that the last update began with. Error: there was none.
  absl::StatusOr<double> UpdatedLoss() const;

  // Returns when all work is done. Error: that of a run.
  absl::Status Sync();

  // How many updates there were: what random numbers and schedules depend on.
  int64_t step() const { return step_; }

  // Parameters, states of rules and the number of the step, for checkpoints.
  // Errors: those of SaveParams and RestoreParams; no step was used yet; states
  // that exceed the limit for the file.
  absl::Status Save(const std::string& path);
  absl::Status Restore(const std::string& path, const DataLimit& limit = {});

 private:
  // What was compiled of a tape.
  struct Linked {
    TapeRoutine routine;
    std::string loss;                               // an array
    std::vector<std::optional<std::string>> grads;  // of what was asked for
  };
  struct Compiled {
    std::unique_ptr<OpByOp> values;
    absl::flat_hash_map<std::string, std::unique_ptr<Linked>> linked;
    // What the arrays of leaves hold, by slot.
    absl::flat_hash_map<uint32_t, std::shared_ptr<const NdArray>> written;
  };
  // The code of a tape and what is read after it.
  using Link = absl::FunctionRef<absl::StatusOr<Linked>(Tape&, Tensor loss)>;

  absl::Status OnRecord(uint32_t slot) override;
  // Finds what the blocks of a call made in the list, or adds it. Errors: there
  // is no list; it has other types or sizes; no first value.
  absl::Status TakeParams(uint32_t slot);
  absl::StatusOr<NdArray> FirstValue(Tensor param);
  void OnDrop(const Tape& tape) override;
  absl::Status ComputeUpTo(uint32_t slot);

  // How many parameters and inputs are those of the tape.
  size_t Repeated(absl::Span<const TrainerInput> inputs);
  Ref UseParam(size_t k);
  Ref UseInput(size_t number, const TrainerInput& input);
  absl::Status CheckTracked() const;
  // Error: x is not of this step, or the parameters have changed since Use.
  absl::Status CheckStep(Ref x) const;
  // Error: a rule that counts the steps of all parameters together, and others
  // than before.
  absl::Status CheckReached(const UpdateRule& rule,
                            absl::Span<const Tensor> reached);
  // Different for different rules, to the bits of their numbers.
  static std::string KeyOf(const UpdateRule& rule);
  absl::StatusOr<Linked*> FindOrLink(Ref loss, const std::string& kind,
                                     Link link);
  absl::StatusOr<Linked> LinkCode(Tape& tape, const Assignments& code,
                                  Tensor loss);
  absl::StatusOr<Linked> LinkGradients(Tape& tape, Tensor loss,
                                       absl::Span<const std::string> names);
  // Of tensors of the tape; "" of what comes after the loss.
  static std::vector<std::string> NamesOf(Tape& tape, Tensor loss,
                                          absl::Span<const Ref> of);
  absl::StatusOr<LossAndGradients> RunGradients(Linked& linked,
                                                std::vector<NdArray> zeros);
  absl::StatusOr<Linked> LinkUpdate(Tape& tape, Tensor loss,
                                    const UpdateRule& rule, bool has_rate);
  // Makes `last_` that update.
  absl::Status LinkLast(Ref loss, const std::shared_ptr<const UpdateRule>& rule,
                        bool has_rate);
  absl::Status StartStates(Assignments init);
  void DropUpdates(absl::string_view kind);
  absl::Status WriteRate(double rate);
  absl::Status WriteLeaves();
  absl::Status Run(Linked& linked);
  std::vector<Array> SavedArrays() const;

  static constexpr char kRateName[] = "session_rate";  // an array

  const SessionOptions options_;
  const Device device_;
  Stream stream_;
  const Context context_;
  std::optional<ParamList> params_;
  int64_t sets_ = 0;  // of the parameters, when the step began
  std::vector<Ref> used_;
  absl::flat_hash_map<int, Compiled> compiled_;  // by number of the tape
  int num_linked_ = 0;

  int64_t step_ = 0;
  RateSchedule schedule_;
  std::optional<double> rate_;                  // that the context has
  absl::btree_map<std::string, Array> states_;  // of rules
  // Of rules by name: the parameters whose steps they count.
  absl::flat_hash_map<std::string, std::vector<std::string>> rule_params_;
  // The last update, which the next one likely is again.
  struct {
    int tape = -1;      // its number
    uint32_t loss = 0;  // a slot
    std::shared_ptr<const UpdateRule> rule;
    bool has_rate = false;
    Linked* linked = nullptr;
  } last_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_EAGER_SESSION_H_
