// SPDX-License-Identifier: Apache-2.0
//
// The half-moons network of moons_model.h, its loss written once with Ops and
// trained eager or compiled: the parameters get the same bits.
#ifndef EXPERIMENTS_MOONS_TRAINER_H_
#define EXPERIMENTS_MOONS_TRAINER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "experiments/moons_data.h"
#include "experiments/moons_model.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/train/eager/scalar_trainer.h"

namespace ocannl {

// Of two hidden layers, whose parameters w1, b1, w2, b2 and w3 come first; then
// all points and classes, and the number of the batch.
train::Ref MoonsLoss(train::Ops& ops, absl::Span<const train::Ref> args);

class MoonsTrainer {
 public:
  // `first` are the parameters of MakeMoons for the same points and options.
  // Error: fewer points than a batch.
  static absl::StatusOr<std::unique_ptr<MoonsTrainer>> Make(
      const Backend* backend, std::vector<NdArray> first,
      const LabelledPoints& points, const MoonsOptions& options,
      train::TrainerMode mode);

  // The next step, on a batch, as the one of MoonsModel.
  absl::Status Step(int64_t batch) {
    inputs_.back() = train::Index{batch, batches_};
    return trainer_.Step(inputs_);
  }

  train::ScalarTrainer& trainer() { return trainer_; }

 private:
  MoonsTrainer(const Backend* backend, train::ParamList params,
               const train::TrainerOptions& options)
      : trainer_(backend, std::move(params), MoonsLoss, options) {}

  train::ScalarTrainer trainer_;
  int64_t batches_ = 1;
  std::vector<train::TrainerInput> inputs_;
};

}  // namespace ocannl

#endif  // EXPERIMENTS_MOONS_TRAINER_H_
