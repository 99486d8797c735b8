// SPDX-License-Identifier: Apache-2.0
#include "ocannl/emulation/emulated_nccl.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "ocannl/core/base/check.h"
#include "ocannl/emulation/emulated_driver.h"
#include "ocannl/emulation/emulated_kernels.h"

namespace ocannl::emulation {
namespace {

using cuda::NcclResult;
constexpr NcclResult kSuccess = 0;
constexpr NcclResult kInvalidUsage = 5;  // ncclInvalidUsage

struct Rank {
  char key;  // the first byte of it
  int rank;
  bool is_aborted = false;
};
using RankPtr = std::shared_ptr<Rank>;

RankPtr& RankOf(cuda::NcclCommHandle comm) {
  return *reinterpret_cast<RankPtr*>(comm);
}

struct Network {
  std::mutex mutex;
  std::condition_variable changed;
  int keys = 0;
  std::map<char, int> joined;  // ranks, by key
  // Those who use these hold the driver.
  using Way = std::tuple<char, int, int>;  // the key, from and to
  std::map<Way, std::deque<std::vector<char>>> messages;
  int received = 0;
};

Network& TheNetwork() {
  static auto* network = new Network();
  return *network;
}

char* AddressOf(const void* address) {
  return HostAddress(reinterpret_cast<cuda::DevicePointer>(address));
}

NcclResult Join(cuda::NcclCommHandle* comm, int ranks, cuda::NcclUniqueId id,
                int rank) {
  Network& network = TheNetwork();
  std::unique_lock<std::mutex> lock(network.mutex);
  const char key = id.bytes[0];
  int& joined = network.joined[key];
  ++joined;
  network.changed.notify_all();
  network.changed.wait(lock, [&] { return joined == ranks; });
  *comm = reinterpret_cast<cuda::NcclCommHandle>(
      new RankPtr(std::make_shared<Rank>(Rank{key, rank})));
  return kSuccess;
}

NcclResult Send(const void* from, size_t count, int type, int to,
                cuda::NcclCommHandle comm, cuda::StreamHandle stream) {
  if (type != cuda::kNcclUint8) return kInvalidUsage;
  GiveStream(stream, [=, rank = RankOf(comm)] {
    const char* const first = AddressOf(from);
    TheNetwork().messages[{rank->key, rank->rank, to}].emplace_back(
        first, first + count);
  });
  return kSuccess;
}

NcclResult Receive(void* to, size_t count, int type, int from,
                   cuda::NcclCommHandle comm, cuda::StreamHandle stream) {
  if (type != cuda::kNcclUint8) return kInvalidUsage;
  const RankPtr rank = RankOf(comm);
  const Network::Way way = {rank->key, from, rank->rank};
  GiveStream(
      stream,
      [=] {
        if (rank->is_aborted) return;
        auto& messages = TheNetwork().messages[way];
        CHECK_EQ(messages.front().size(), count);
        std::memcpy(AddressOf(to), messages.front().data(), count);
        messages.pop_front();
        ++TheNetwork().received;
      },
      [=] { return rank->is_aborted || !TheNetwork().messages[way].empty(); });
  return kSuccess;
}

}  // namespace

cuda::NcclFunctions EmulatedNccl() {
  cuda::NcclFunctions nccl;
  nccl.GetErrorString = [](NcclResult) { return "emulated"; };
  nccl.GetUniqueId = [](cuda::NcclUniqueId* id) -> NcclResult {
    std::lock_guard<std::mutex> lock(TheNetwork().mutex);
    id->bytes = {static_cast<char>(++TheNetwork().keys)};
    return kSuccess;
  };
  nccl.CommInitRank = Join;
  nccl.CommAbort = [](cuda::NcclCommHandle comm) -> NcclResult {
    ChangeWhatIsReady([&] { RankOf(comm)->is_aborted = true; });
    delete &RankOf(comm);
    return kSuccess;
  };
  nccl.Send = Send;
  nccl.Recv = Receive;
  return nccl;
}

int NumNcclMessages() {
  int count = 0;
  ChangeWhatIsReady([&] { count = TheNetwork().received; });
  return count;
}

}  // namespace ocannl::emulation
