// SPDX-License-Identifier: Apache-2.0
//
// Device: a place that has memory and runs what its backend compiles: the host
// with a tier such as the interpreter, or a GPU.
//
//   Device device("host", &backend);
//   Stream stream(&device);
//   Context context(&stream);
#ifndef OCANNL_CORE_RUNTIME_DEVICE_H_
#define OCANNL_CORE_RUNTIME_DEVICE_H_

#include <string>

#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/device_memory.h"

namespace ocannl {

class Device {
 public:
  // The backend must outlive the device.
  Device(std::string name, const Backend* backend);
  Device(const Device&) = delete;

  const std::string& name() const { return name_; }
  const Backend& backend() const { return *backend_; }

  // Zeroed memory of the device. Error: there is not so much.
  absl::StatusOr<DeviceMemory> Allocate(size_t bytes) const {
    return DeviceMemory::Allocate(bytes, backend_->memory());
  }

 private:
  std::string name_;
  const Backend* backend_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_DEVICE_H_
