// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/distributed/connect_devices.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/runtime/device_network.h"

namespace ocannl::train {
namespace {

class DeviceRank : public Communicator {
 public:
  DeviceRank(Communicator& ranks, std::unique_ptr<DeviceLink> link)
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

 private:
  Communicator& ranks_;
  const std::unique_ptr<DeviceLink> link_;
};

absl::StatusOr<bool> ForAll(Communicator& ranks, bool here) {
  std::vector<uint64_t> all(ranks.ranks(), here);
  OCANNL_RETURN_IF_ERROR(AllGather(ranks, absl::MakeSpan(all)));
  return absl::c_all_of(all, [](uint64_t value) { return value != 0; });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> ConnectDevices(
    const Backend& backend, Communicator& ranks) {
  const DeviceNetwork* const network = backend.network();
  absl::StatusOr<DeviceNetwork::Key> key = DeviceNetwork::Key();
  if (network != nullptr && ranks.rank() == 0) key = network->MakeKey();
  OCANNL_ASSIGN_OR_RETURN(bool all,
                          ForAll(ranks, network != nullptr && key.ok()));
  if (!all) return nullptr;
  OCANNL_RETURN_IF_ERROR(BroadcastValue(&ranks, *key));
  auto link = network->Connect(ranks.rank(), ranks.ranks(), *key);
  OCANNL_ASSIGN_OR_RETURN(all, ForAll(ranks, link.ok()));
  if (!all) return nullptr;
  return std::make_unique<DeviceRank>(ranks, *std::move(link));
}

}  // namespace ocannl::train
