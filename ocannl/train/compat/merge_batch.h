// SPDX-License-Identifier: Apache-2.0
//
// MergeBatch: OCANNL's merges of several tensors from several contexts, with
// what is to happen where a context does not have one of them. DataParallel
// does not need it: Replicas (parallel/replicas.h) merges by pairs.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       auto merges,
//       MergeBatch(model, Parameters(model, loss), {one, two}, all,
//                  {.gradients = true}));
//   for (std::vector<BatchMerge>& from : merges) {
//     for (BatchMerge& each : from) OCANNL_RETURN_IF_ERROR(each.Run());
//   }
#ifndef OCANNL_TRAIN_COMPAT_MERGE_BATCH_H_
#define OCANNL_TRAIN_COMPAT_MERGE_BATCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

// What it means that a context does not have an array.
enum class Occupancy : uint8_t {
  kRequired,  // an error
  kSkip,      // nothing: it is not merged, even if it is there
  kOptional,  // it is not merged, and `if_missing` is called
};

struct MergeBatchOptions {
  bool gradients = false;  // the gradients of the tensors, not their values
  // Whether what is merged is added, or else replaces what is there.
  bool adds = true;
  // By tensor and number of the context; null: all are required.
  std::function<Occupancy(Tensor t, size_t from)> occupancy = nullptr;
  std::function<void(Tensor t, size_t from)> if_missing = nullptr;
};

// One array of one context on its way into another context.
class BatchMerge {
 public:
  // Merges the values that the array has then. Errors: those of
  // Context::CopyToMerge or Copy, and of Routine::Run.
  absl::Status Run();

  const std::string& array() const { return array_; }

 private:
  friend absl::StatusOr<std::vector<std::vector<BatchMerge>>> MergeBatch(
      Model&, absl::Span<const Tensor>, absl::Span<const Context>,
      const Context&, const MergeBatchOptions&);

  BatchMerge(std::string array, Context from, Context to,
             std::optional<Routine> adds)
      : array_(std::move(array)),
        from_(std::move(from)),
        to_(std::move(to)),
        adds_(std::move(adds)) {}

  std::string array_;
  Context from_, to_;
  std::optional<Routine> adds_;  // none: a copy
};

// The merges of `tensors` from each of the contexts `from` into `to`, by
// context and then in the order of the tensors, without those that are not
// merged. Errors: an array that is required is not in a context; a tensor of
// another model, or without a gradient; those of ToRoutine.
absl::StatusOr<std::vector<std::vector<BatchMerge>>> MergeBatch(
    Model& model, absl::Span<const Tensor> tensors,
    absl::Span<const Context> from, const Context& to,
    const MergeBatchOptions& options = {});

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_COMPAT_MERGE_BATCH_H_
