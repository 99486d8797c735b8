// SPDX-License-Identifier: Apache-2.0
//
// Replicas: contexts with the arrays of one model each, which are kept alike.
// The first one is the owner: its parameters count. MergeGradients is a tree
// reduction to the owner through the merge buffers of the streams,
// ShareParameters a broadcast from it.
//
//   for (int k = 0; k < n; ++k) ...            // gradient code in context k
//   OCANNL_RETURN_IF_ERROR(replicas.MergeGradients(n));
//   ...                                        // the owner's update
//   OCANNL_RETURN_IF_ERROR(replicas.ShareParameters());
#ifndef OCANNL_TRAIN_PARALLEL_REPLICAS_H_
#define OCANNL_TRAIN_PARALLEL_REPLICAS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/model.h"

namespace ocannl::train {

struct MergePair {
  int from, to;

  friend bool operator==(const MergePair&, const MergePair&) = default;
};

// The pairs of a binary tree reduction: which of `n` values to add to which, so
// that the sum of all is in value 0, in rounds in which each value takes part
// once:
//
//   5: 3 -> 1, 4 -> 2;  2 -> 1;  1 -> 0
std::vector<MergePair> ParallelMerge(int n);

class Replicas {
 public:
  // Of `parameters` of the shapes in `model`; the gradients of those `trained`
  // are merged, and the value of `loss`, if there is one. Errors: those of
  // ToRoutine.
  static absl::StatusOr<Replicas> Make(Model& model,
                                       absl::Span<const Tensor> parameters,
                                       absl::Span<const Tensor> trained,
                                       std::vector<Context> contexts,
                                       std::optional<Tensor> loss = {});

  // Whether merge buffers get copies, or, as at first, point at what is merged
  // where that is in their kind of memory.
  void set_copy_to_merge(bool copies) { copies_ = copies; }

  // Adds up the gradients, and losses, of the first `n` contexts, in the order
  // of ParallelMerge, whose pairs of one round could be merged at once: the
  // owner has the sums then, others sums of some. Error: a gradient that no
  // run made. There are `n` at least.
  absl::Status MergeGradients(int n);

  // Gives all contexts the owner's parameters. Error: one has no value.
  absl::Status ShareParameters();

 private:
  struct Replica {
    Context context;
    // x =+ x.merge, behind the name of the array x.
    std::vector<std::pair<std::string, Routine>> merges;
  };

  std::vector<std::string> parameters_;
  std::vector<Replica> replicas_;
  bool copies_ = false;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_PARALLEL_REPLICAS_H_
