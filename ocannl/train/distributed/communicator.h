// SPDX-License-Identifier: Apache-2.0
//
// Communicator: what the processes of one training, its ranks, say to each
// other. Messages are bytes, from one rank to one other, in order; the bits of
// what is computed of them depend on nothing else.
//
//   if (ranks.rank() == 1) OCANNL_RETURN_IF_ERROR(ranks.Send(0, bytes));
//   if (ranks.rank() == 0) OCANNL_RETURN_IF_ERROR(ranks.Receive(1, bytes));
//   OCANNL_RETURN_IF_ERROR(Broadcast(ranks, bytes));
#ifndef OCANNL_TRAIN_DISTRIBUTED_COMMUNICATOR_H_
#define OCANNL_TRAIN_DISTRIBUTED_COMMUNICATOR_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ocannl::train {

// Not thread-safe. An error of a message is final: the ranks no longer agree on
// which one is next.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;   // from 0
  virtual int ranks() const = 0;  // at least 1

  // Sends to another rank. May return before that has received, or only then.
  // Errors: a rank is gone, or one aborted.
  virtual absl::Status Send(int to, absl::Span<const std::byte> bytes) = 0;

  // The next message of rank `from`, which must fill `bytes`. Errors: those of
  // Send; a message of another length.
  virtual absl::Status Receive(int from, absl::Span<std::byte> bytes) = 0;

  // Ends the work of all ranks with an error that says `why`; processes end
  // here.
  virtual void Abort(absl::string_view why) = 0;
};

// For Receive: rank `from` sent so many bytes, and not those expected.
absl::Status OtherLength(int from, size_t sent, size_t expected);

// To be called by all ranks alike; errors are those of their messages.

// Makes the bytes of rank 0 those of every rank, of one length, by a binomial
// tree: the rounds of ParallelMerge (parallel/replicas.h) backwards.
absl::Status Broadcast(Communicator& ranks, absl::Span<std::byte> bytes);

// Makes the value of rank 0 that of every rank; null: there is one.
template <class T>
absl::Status BroadcastValue(Communicator* ranks, T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (ranks == nullptr) return absl::OkStatus();
  return Broadcast(*ranks, absl::MakeSpan(reinterpret_cast<std::byte*>(&value),
                                          sizeof(value)));
}

// Broadcast on rank 0, where the bytes stay as they are.
absl::Status BroadcastOwn(Communicator& ranks,
                          absl::Span<const std::byte> bytes);

// Value k is that of rank k mod ranks(): each has set its own, and gets those
// of all others. All have as many.
absl::Status AllGather(Communicator& ranks, absl::Span<uint64_t> values);

// The values of all ranks, each of which has one.
absl::StatusOr<std::vector<uint64_t>> AllGather(Communicator& ranks,
                                                uint64_t here);

// Error: a rank has other 64 bits; it names `what` they stand for, the first
// such rank, and the `fix`.
absl::Status CheckAgree(Communicator& ranks, absl::string_view what,
                        uint64_t bits, absl::string_view fix);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_DISTRIBUTED_COMMUNICATOR_H_
