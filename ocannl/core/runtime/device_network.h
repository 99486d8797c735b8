// SPDX-License-Identifier: Apache-2.0
//
// DeviceNetwork: how devices of several processes, its ranks, send each other
// bytes without a copy on their hosts (NCCL, between GPUs).
//
//   rank 0:    OCANNL_ASSIGN_OR_RETURN(const auto key, network.MakeKey());
//   each one:  OCANNL_ASSIGN_OR_RETURN(auto link,
//                                      network.Connect(rank, ranks, key));
#ifndef OCANNL_CORE_RUNTIME_DEVICE_NETWORK_H_
#define OCANNL_CORE_RUNTIME_DEVICE_NETWORK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace ocannl {

// Of one rank with all others. Messages from one to one other are in order;
// both sides give the same number of bytes. They go to the queue of the calling
// thread (DeviceQueue::Scope), and are done when what that has before is.
// Errors: the device or the network failed.
class DeviceLink {
 public:
  virtual ~DeviceLink() = default;
  virtual absl::Status Send(int to, absl::Span<const std::byte> bytes) = 0;
  virtual absl::Status Receive(int from, absl::Span<std::byte> bytes) = 0;

  // Ends messages that are under way; those that come are errors. Waits for no
  // other rank. For any thread.
  virtual void Abort() = 0;
};

// Thread-safe.
class DeviceNetwork {
 public:
  using Key = std::array<char, 128>;

  virtual ~DeviceNetwork() = default;

  // Another number for each device there is, on whatever machine.
  virtual uint64_t DeviceId() const = 0;

  // A new one, for one call of Connect in each rank. Error: the network failed.
  virtual absl::StatusOr<Key> MakeKey() const = 0;

  // Returns when all ranks, each with a device of its own, have called it.
  // Error: the network failed.
  virtual absl::StatusOr<std::unique_ptr<DeviceLink>> Connect(
      int rank, int ranks, const Key& key) const = 0;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_DEVICE_NETWORK_H_
