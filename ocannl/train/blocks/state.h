// SPDX-License-Identifier: Apache-2.0
//
// What blocks do in training and not in inference, and what they keep beside
// the parameters.
//
//   Training training{.step = graph.AddStatic("step", std::nullopt)};
//   Tensor logits = net(images, &training);
//   ...                                        // loss, GradUpdate, SgdUpdate
//   OCANNL_ASSIGN_OR_RETURN(UpdateCode states,
//                           UpdateStates(model, training.updates));
//   // init: states.init     step: gradient, states.update, sgd.update
//
//   Tensor answer = net(images, kInference);   // the same parameters
#ifndef OCANNL_TRAIN_BLOCKS_STATE_H_
#define OCANNL_TRAIN_BLOCKS_STATE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

// After each step, `state`, a parameter that no gradient reaches, is `value`;
// or its row at the value of a static index is, which is its first axis.
struct StateUpdate {
  Tensor state;
  Tensor value;
  std::optional<int32_t> at = {};
};

struct Training {
  // A static index that has another value in each step, and for each part of a
  // batch whose gradients are accumulated: what dropout draws depends on it.
  int32_t step;
  // What the blocks that were applied in this training keep.
  std::vector<StateUpdate> updates = {};
};

// In the place of a training: none.
inline constexpr Training* kInference = nullptr;

// The code that gives the states their first values, and that of the updates,
// which comes after the code of what was trained. Errors: those of Forward.
absl::StatusOr<UpdateCode> UpdateStates(Model& model,
                                        absl::Span<const StateUpdate> updates);

// Dropout: in training, each cell is 0 with probability `rate`, and divided by
// 1 - rate otherwise, so that its mean stays; in inference, nothing happens.
//
// The dropped cells depend on the graph's seed, the ordinal of the call among
// the random operations of the graph, the step and the cell's offset. They are
// the same on every tier, with any number of threads. Cells, steps and calls
// are independent of each other (initializer.h).
//
// Srivastava et al., "Dropout" (2014).
//
// Error node: a rate that is not in [0, 1).
Tensor Dropout(Tensor x, double rate, const Training* training,
               SourceLocation where = SourceLocation::Current());

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_STATE_H_
