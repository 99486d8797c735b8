// SPDX-License-Identifier: Apache-2.0
//
// ScalarTrainer: trains the parameters of a loss, eager or compiled.
//
//   auto loss = [](Ops& ops, absl::Span<const Ref> args) {  // w, b, x, y
//     return ops.MseLoss(ops.Linear(args[0], args[1], args[2]), args[3]);
//   };
//   OCANNL_ASSIGN_OR_RETURN(ParamList params, ParamList::Allocate({w, b}));
//   ScalarTrainer trainer(&backend, std::move(params), loss, {});
//   for (...) OCANNL_RETURN_IF_ERROR(trainer.Step(0.1, {x, y}));
//
// Eager, the loss is called for each step: what it captures may change, and it
// may read values and branch on them. Compiled, it is called once for inputs of
// the same shapes; what it captures must not change, which is checked in calls
// 2, 4, 8 and so on. Both give the same bits, and run the same routine once
// steps repeat. The mode, the tier and its device are chosen independently.
#ifndef OCANNL_TRAIN_EAGER_SCALAR_TRAINER_H_
#define OCANNL_TRAIN_EAGER_SCALAR_TRAINER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/train/eager/ops.h"
#include "ocannl/train/eager/param_list.h"
#include "ocannl/train/eager/session.h"
#include "ocannl/train/optim/rule.h"

namespace ocannl::train {

// Of parameters, then inputs: a tensor of one cell.
using Loss = std::function<Ref(Ops& ops, absl::Span<const Ref> args)>;

enum class TrainerMode : uint8_t { kEager, kCompiled };

struct TrainerOptions {
  TrainerMode mode = TrainerMode::kEager;
  uint32_t seed = 0;
  bool track_gradients = true;  // false: Forward only
  RateSchedule schedule = nullptr;
  // As in SessionOptions.
  std::function<void(absl::string_view what)> on_change = nullptr;
};

using Inputs = absl::Span<const TrainerInput>;

// Neither moves nor copies. Not thread-safe.
class ScalarTrainer {
 public:
  // The backend must outlive the trainer.
  ScalarTrainer(const Backend* backend, ParamList params, Loss loss,
                const TrainerOptions& options = {});

  // Errors of all that take inputs: those of the loss's operations, by name and
  // place; a loss that is not of one cell, or that calls its own trainer; of
  // compiling and running. No parameter is changed then.

  absl::StatusOr<double> Forward(Inputs inputs);

  // The gradients by the parameters, in their order and shapes: zeros by those
  // that are frozen and those that the loss does not depend on. Needs no call
  // of Forward before.
  absl::StatusOr<std::vector<NdArray>> Backward(Inputs inputs);
  absl::StatusOr<Session::LossAndGradients> ValueAndGrad(Inputs inputs);

  // One step of the rule, at first Sgd(), with a rate or that of the schedule.
  absl::Status Step(double rate, Inputs inputs) { return Update(rate, inputs); }
  absl::Status Step(Inputs inputs) { return Update(std::nullopt, inputs); }

  // Error, with nothing changed: that of the rule. States that the rule before
  // had are kept for it, and those of the same names are the new one's.
  absl::Status set_rule(const absl::StatusOr<UpdateRule>& rule);

  // The parameters, wherever they are, and all of them at once.
  absl::StatusOr<std::vector<NdArray>> GetParams() { return params_.Get(); }
  absl::Status SetParams(absl::Span<const NdArray> values) {
    return params_.Set(values);
  }
  ParamList& params() { return params_; }

  // Parameters, states of rules and the number of the step; what comes after
  // Restore has the bits that it had after Save. Errors: of Session.
  absl::Status Save(const std::string& path);
  absl::Status Restore(const std::string& path);

  Session& session() { return session_; }

 private:
  absl::StatusOr<Ref> Record(Inputs inputs);
  absl::Status Update(std::optional<double> rate, Inputs inputs);

  // What a compiled loss is on a tape.
  struct Compiled {
    uint32_t loss;
    int64_t calls = 0;
  };

  ParamList params_;
  Loss loss_;
  const TrainerOptions options_;
  Session session_;
  bool is_in_loss_ = false;
  std::shared_ptr<const UpdateRule> rule_;
  // By the number of the tape and that of the inputs.
  absl::flat_hash_map<std::pair<int, size_t>, Compiled> compiled_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_EAGER_SCALAR_TRAINER_H_
