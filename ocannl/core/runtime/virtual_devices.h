// SPDX-License-Identifier: Apache-2.0
//
// VirtualDevices: several devices of one backend, each with a stream and a
// context of its own, and a thread where there are enough: what data parallel
// training runs on. The source documents call them so, too.
//
//   VirtualDevices devices(backend, SuggestedVirtualDevices(*backend));
//   OCANNL_RETURN_IF_ERROR(devices[1].context.Write("x", points));
#ifndef OCANNL_CORE_RUNTIME_VIRTUAL_DEVICES_H_
#define OCANNL_CORE_RUNTIME_VIRTUAL_DEVICES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/core/runtime/threads/team.h"
#include "ocannl/core/runtime/threads/worker.h"

namespace ocannl {

struct VirtualDevice {
  VirtualDevice(std::string name, const Backend* backend, Worker* worker)
      : device(std::move(name), backend),
        stream(&device, {.worker = worker}),
        is_inline(worker == nullptr) {}

  Device device;
  Stream stream;
  Context context{&stream};
  bool is_inline;  // the thread that calls does its work
};

// How many to make: one for each processor, but one alone if the backend's
// device has queues of its own, as a GPU has.
int SuggestedVirtualDevices(const Backend& backend);

// Moves, but does not copy.
class VirtualDevices {
 public:
  // `count` devices, at least 1, "virtual:0" and so on, whose streams `threads`
  // threads serve in turn: the one that calls and workers; 0: as many as there
  // are processors. The backend must outlive them.
  VirtualDevices(const Backend* backend, int count, int threads = 0);
  VirtualDevices(VirtualDevices&&) = default;
  VirtualDevices& operator=(VirtualDevices&&) = delete;

  // Those of `others` stand behind these.
  void Append(VirtualDevices others);

  // The thread that calls and the workers; null: there are none.
  std::unique_ptr<Team> MakeTeam() const;

  size_t size() const { return devices_.size(); }
  VirtualDevice& operator[](size_t k) const { return *devices_[k]; }

 private:
  // The devices go first.
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<VirtualDevice>> devices_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_VIRTUAL_DEVICES_H_
