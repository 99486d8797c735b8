// SPDX-License-Identifier: Apache-2.0
//
// ConnectDevices: messages between ranks that go from device to device.
//
//   OCANNL_ASSIGN_OR_RETURN(auto devices, ConnectDevices(backend, ranks));
//   if (devices != nullptr) ...  // Send and Receive take addresses of devices
#ifndef OCANNL_TRAIN_DISTRIBUTED_CONNECT_DEVICES_H_
#define OCANNL_TRAIN_DISTRIBUTED_CONNECT_DEVICES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/train/distributed/communicator.h"

namespace ocannl::train {

// The same ranks, whose messages are bytes in the memory of their backends,
// sent in the order of the queue of the thread (DeviceNetwork). Null: one of
// them has no network, or their networks do not connect, as where two have one
// device. All call it alike; `ranks` and the backend outlive it. Errors: those
// of messages of `ranks`.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectDevices(
    const Backend& backend, Communicator& ranks);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_DISTRIBUTED_CONNECT_DEVICES_H_
