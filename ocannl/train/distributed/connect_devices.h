// SPDX-License-Identifier: Apache-2.0
//
// ConnectDevices: messages between ranks that go from device to device.
//
//   OCANNL_ASSIGN_OR_RETURN(auto devices, ConnectDevices(backend, ranks));
//   if (devices != nullptr) ...  // Send and Receive take addresses of devices
#ifndef OCANNL_TRAIN_DISTRIBUTED_CONNECT_DEVICES_H_
#define OCANNL_TRAIN_DISTRIBUTED_CONNECT_DEVICES_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/device_network.h"
#include "ocannl/train/distributed/communicator.h"

namespace ocannl::train {

// Ranks whose messages are bytes in the memory of their backends, sent in the
// order of the queue of the thread (DeviceNetwork).
class DeviceRanks : public Communicator {
 public:
  DeviceRanks(Communicator& ranks, std::unique_ptr<DeviceLink> link)
      : ranks_(ranks), link_(std::move(link)) {}

  int rank() const override { return ranks_.rank(); }
  int ranks() const override { return ranks_.ranks(); }
  absl::Status Send(int to, absl::Span<const std::byte> bytes) override {
    return link_->Send(to, bytes);
  }
  absl::Status Receive(int from, absl::Span<std::byte> bytes) override {
    return link_->Receive(from, bytes);
  }
  void Abort(absl::string_view why) override { ranks_.Abort(why); }

  // Ends messages that are under way (DeviceLink::Abort).
  void Disconnect() { link_->Abort(); }

 private:
  Communicator& ranks_;
  const std::unique_ptr<DeviceLink> link_;
};

// Those of the devices of `ranks`. Null: one of them has no network, two have
// one device, or their networks do not connect. All call it alike; `ranks` and
// the backend outlive it. Errors: those of messages of `ranks`.
absl::StatusOr<std::unique_ptr<DeviceRanks>> ConnectDevices(
    const Backend& backend, Communicator& ranks);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_DISTRIBUTED_CONNECT_DEVICES_H_
