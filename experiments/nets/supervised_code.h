// SPDX-License-Identifier: Apache-2.0
//
// The parts that the trainings of a Supervised are made of.
#ifndef EXPERIMENTS_NETS_SUPERVISED_CODE_H_
#define EXPERIMENTS_NETS_SUPERVISED_CODE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "experiments/nets/supervised.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/state.h"
#include "ocannl/train/model.h"
#include "ocannl/train/optim/loss_scale.h"

namespace ocannl {

// Examples that stand at the value of a static index.
struct Batch {
  Tensor inputs, classes;
};

// Of one graph; the examples must outlive it.
class Batches {
 public:
  Batches(Graph& graph, const Examples& examples, std::string name,
          int64_t size)
      : graph_(graph),
        examples_(examples),
        name_(std::move(name)),
        size_(size) {}

  // Error: fewer examples than a batch.
  absl::Status Check() const;

  int64_t count() const { return examples_.inputs.dims()[0] / size_; }

  // The batch at `index`; with `shuffles`, in the order that the array
  // NAME_order has.
  Batch At(const std::string& index, bool shuffles) const;

  // The examples whose numbers are in `rows`.
  Batch At(Tensor rows) const;

 private:
  // batches,size,places|cells: without places where it has none.
  Tensor Rows(const NdArray& array, absl::string_view what) const;
  Tensor Gathered(Tensor rows, const NdArray& array,
                  absl::string_view what) const;
  // Whether each place of an example has a class of its own.
  bool has_places() const;

  Graph& graph_;
  const Examples& examples_;
  std::string name_;
  int64_t size_;
};

// The classes as probabilities, 0 or 1.
Tensor Targets(Tensor classes, int64_t count);

// Where the network of a training makes its parameters.
train::ParamScope ScopeOf(Graph& graph, const SupervisedOptions& options);

// The mean cross-entropy of a batch, an array `loss`, in f32.
Tensor TrainingLoss(const Net& net, const Batch& batch, int64_t classes,
                    train::Training* training);

// Updates states and parameters after `steps` at a falling rate, the array
// learning_rate. Errors: those of UpdateStates and ScaledRuleUpdate.
absl::StatusOr<train::UpdateCode> TrainingUpdate(
    train::Model& model, Tensor loss, const train::Training& training,
    const SupervisedOptions& options, int64_t steps,
    const std::optional<train::LossScale>& scale);

}  // namespace ocannl

#endif  // EXPERIMENTS_NETS_SUPERVISED_CODE_H_
