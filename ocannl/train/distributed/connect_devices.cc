// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/distributed/connect_devices.h"

#include <cstdint>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::train {
namespace {

absl::StatusOr<bool> ForAll(Communicator& ranks, bool here) {
  OCANNL_ASSIGN_OR_RETURN(const auto all, AllGather(ranks, here ? 1 : 0));
  return !absl::c_linear_search(all, uint64_t{0});
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceRanks>> ConnectDevices(
    const Backend& backend, Communicator& ranks) {
  const DeviceNetwork* const network = backend.network();
  absl::StatusOr<DeviceNetwork::Key> key = DeviceNetwork::Key();
  if (network != nullptr && ranks.rank() == 0) key = network->MakeKey();
  OCANNL_ASSIGN_OR_RETURN(bool all,
                          ForAll(ranks, network != nullptr && key.ok()));
  if (!all) return nullptr;
  OCANNL_ASSIGN_OR_RETURN(const auto devices,
                          AllGather(ranks, network->DeviceId()));
  const std::set<uint64_t> different(devices.begin(), devices.end());
  if (different.size() < devices.size()) return nullptr;
  OCANNL_RETURN_IF_ERROR(BroadcastValue(&ranks, *key));
  auto link = network->Connect(ranks.rank(), ranks.ranks(), *key);
  OCANNL_ASSIGN_OR_RETURN(all, ForAll(ranks, link.ok()));
  if (!all) return nullptr;
  return std::make_unique<DeviceRanks>(ranks, *std::move(link));
}

}  // namespace ocannl::train
