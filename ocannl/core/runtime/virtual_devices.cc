// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/virtual_devices.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ocannl/core/base/check.h"

namespace ocannl {

int SuggestedVirtualDevices(const Backend& backend) {
  return backend.MakeQueue() == nullptr ? Team::MaxSize() : 1;
}

VirtualDevices::VirtualDevices(const Backend* backend, int count, int threads) {
  CHECK_GE(count, 1) << "devices of VirtualDevices; give at least 1";
  threads = std::clamp(threads > 0 ? threads : Team::MaxSize(), 1, count);
  for (int k = 1; k < threads; ++k) {
    workers_.push_back(std::make_unique<Worker>());
  }
  for (int k = 0; k < count; ++k) {
    const int thread = k % threads;  // 0 is the one that calls
    devices_.push_back(std::make_unique<VirtualDevice>(
        absl::StrCat("virtual:", k), backend,
        thread > 0 ? workers_[thread - 1].get() : nullptr));
  }
}

std::unique_ptr<Team> VirtualDevices::MakeTeam() const {
  std::vector<Worker*> workers;
  for (const auto& worker : workers_) workers.push_back(worker.get());
  if (workers.empty()) return nullptr;
  return std::make_unique<Team>(absl::MakeConstSpan(workers));
}

void VirtualDevices::Append(VirtualDevices others) {
  for (auto& worker : others.workers_) workers_.push_back(std::move(worker));
  for (auto& device : others.devices_) devices_.push_back(std::move(device));
}

}  // namespace ocannl
