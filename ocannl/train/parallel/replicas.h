// SPDX-License-Identifier: Apache-2.0
//
// Replicas: contexts with the arrays of one model each, which are kept alike.
// The first one is the owner: its parameters count. MergeGradients is a tree
// reduction to the owner through the merge buffers of the streams,
// ShareParameters a broadcast from it. They may be those of several processes,
// its ranks, with the same bits.
//
//   for (int k = 0; k < n; ++k) ...            // gradient code in context k
//   OCANNL_RETURN_IF_ERROR(replicas.MergeGradients(n));
//   ...                                        // the owner's update
//   OCANNL_RETURN_IF_ERROR(replicas.ShareParameters());
#ifndef OCANNL_TRAIN_PARALLEL_REPLICAS_H_
#define OCANNL_TRAIN_PARALLEL_REPLICAS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/distributed/communicator.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

struct MergePair {
  int from, to;

  friend bool operator==(const MergePair&, const MergePair&) = default;
};

// The pairs of a binary tree reduction of `n` values, which leaves the sum of
// all in value 0. Each pair adds one value to another; in a round, each value
// takes part at most once:
//
//   5: 3 -> 1, 4 -> 2;  2 -> 1;  1 -> 0
std::vector<MergePair> ParallelMerge(int n);

// How replicas are dealt to ranks: replica k belongs to rank k mod ranks. Of
// ranks * 2^r replicas, the first r rounds of ParallelMerge so stay within a
// rank, which then has one sum.
//
// How many of `count` replicas the rank has, and how many all ranks have
// together, if this one has `here`; null: there are no other ranks. Errors:
// replicas that are not dealt so; those of messages.
int ReplicasHere(int count, const Communicator* ranks);
absl::StatusOr<int> CountReplicas(int here, Communicator* ranks);

struct ReplicasOptions {
  std::optional<Tensor> loss = {};  // is merged, too
  // FinishMerge divides the sums by it: the number of all replicas for means.
  int64_t divisor = 1;
  // Of several processes with a part of the replicas each; all call the same
  // functions. It must outlive the replicas.
  Communicator* communicator = nullptr;
  // Whether merge buffers get copies, or point at what is merged, where that is
  // in their kind of memory. A copy frees the gradients for the next step of
  // their device sooner, and costs the time and the memory of one.
  bool copy_to_merge = false;
  // Gradients that are merged together, by their numbers in `trained`; empty:
  // all. If there are several, messages have a thread of their own, and go
  // while other gradients are not there yet.
  std::vector<std::vector<int>> buckets = {};
};

// Sums of gradients and losses of narrow floats are f32: of each there is a
// copy `shard_sum`, and FinishMerge rounds the sum, or the quotient, once.
//
// Between ranks, values are merged in contexts of their own, in which they are
// copied, so that messages are in one order.
class Replicas {
 public:
  // Of `parameters` of the shapes in `model`; the gradients of those `trained`
  // are merged. `contexts` are those of this process. Errors: those of
  // ToRoutine and CountReplicas.
  static absl::StatusOr<Replicas> Make(Model& model,
                                       absl::Span<const Tensor> parameters,
                                       absl::Span<const Tensor> trained,
                                       std::vector<Context> contexts,
                                       const ReplicasOptions& options = {});
  Replicas(Replicas&&) noexcept;
  Replicas& operator=(Replicas&&) noexcept;
  ~Replicas();

  // Of all ranks.
  int count() const { return count_; }
  // The number of replica `k` among those of this process; none: it is another
  // rank's.
  std::optional<int> Here(int k) const;

  // Adds up the gradients, and losses, of the first `n` replicas, in the order
  // of ParallelMerge. The owner then has the sums over options.divisor, and
  // other replicas have partial sums. Errors: a gradient that no run
  // computed; those of messages. There are at least `n` replicas.
  absl::Status MergeGradients(int n);

  // The same in parts: each of the `buckets()`, in order, may be begun when the
  // code that computes it has been given to the contexts, and FinishMerge ends
  // all.
  size_t buckets() const { return buckets_.size(); }
  absl::Status BeginMerge(size_t bucket, int n);
  absl::Status FinishMerge();

  // Gives all contexts the owner's parameters. Errors: one has no value; those
  // of messages.
  absl::Status ShareParameters();

  // Makes value k, which the rank of replica k has set, that of all ranks.
  // Errors: those of messages.
  absl::Status Gather(absl::Span<uint64_t> values) const;

  // ShareParameters, and checks that all ranks have the same bits then. Errors:
  // also that they have not.
  absl::Status SyncRanks();

 private:
  struct Exchange;

  Replicas();
  Communicator* ranks() const;  // null: there are no other ranks
  absl::Status LinkMerges(Model& model, Tensor of, absl::string_view suffix,
                          int64_t divisor, Assignments& finish);
  absl::Status Merge(MergePair pair, absl::Span<const int> bucket);
  absl::Status BroadcastParameters();

  std::vector<Tensor> parameters_;
  std::vector<std::string> merged_;        // names of arrays
  std::vector<std::vector<int>> buckets_;  // of numbers in merged_
  std::vector<Context> contexts_;
  std::unique_ptr<Exchange> exchange_;  // with other ranks; outlives merging_
  std::vector<Context> merging_;        // in which contexts_[k] is merged
  // By the number of an array in merged_ and k: x =+ x.merge in merging_[k].
  std::vector<std::vector<Routine>> merges_;
  // Likewise: copies the array of contexts_[k] to its f32 sum. Empty: it is not
  // a narrow float, and is its own sum.
  std::vector<std::vector<Routine>> widen_;
  std::optional<Routine> finish_;  // rounds and divides the owner's sums
  int count_ = 0;
  bool copies_ = false;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_PARALLEL_REPLICAS_H_
