// SPDX-License-Identifier: Apache-2.0
//
// Ranks whose GPUs send each other gradients and parameters: the bits of one
// process. GPUs are emulated, and so is NCCL, on their streams.
#include "ocannl/cuda/nccl.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/cuda/cuda_backend.h"
#include "ocannl/fuzz/emulated_driver.h"
#include "ocannl/interp/interp_backend.h"
#include "ocannl/train/model.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/parallel/data_parallel.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/owner_hash.h"
#include "tests/support/ranks.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using cuda::NcclFunctions;
using cuda::NcclResult;
using testing::Each;
using train::Communicator;
using train::DataParallel;
using train::Model;

constexpr NcclResult kInvalidUsage = 5;  // ncclInvalidUsage

struct Network {
  std::mutex mutex;
  std::condition_variable changed;
  int keys = 0;
  std::map<char, int> joined;              // by the first byte of the key
  using Way = std::tuple<char, int, int>;  // the key, from and to
  std::map<Way, std::deque<std::vector<std::byte>>> messages;
  int received = 0;
};

Network& TheNetwork() {
  static auto* network = new Network();
  return *network;
}

struct Rank {
  char key;
  int rank;
};

Rank& RankOf(cuda::NcclCommHandle comm) {
  return *reinterpret_cast<Rank*>(comm);
}

NcclFunctions EmulatedNccl() {
  NcclFunctions nccl;
  nccl.GetErrorString = [](NcclResult) { return "emulated"; };
  nccl.GetUniqueId = [](cuda::NcclUniqueId* id) -> NcclResult {
    std::lock_guard<std::mutex> lock(TheNetwork().mutex);
    id->bytes = {static_cast<char>(++TheNetwork().keys)};
    return 0;
  };
  nccl.CommInitRank = [](cuda::NcclCommHandle* comm, int ranks,
                         cuda::NcclUniqueId id, int rank) -> NcclResult {
    Network& network = TheNetwork();
    std::unique_lock<std::mutex> lock(network.mutex);
    int& joined = network.joined[id.bytes[0]];
    ++joined;
    network.changed.notify_all();
    network.changed.wait(lock, [&] { return joined == ranks; });
    *comm = reinterpret_cast<cuda::NcclCommHandle>(new Rank{id.bytes[0], rank});
    return 0;
  };
  nccl.CommDestroy = [](cuda::NcclCommHandle comm) -> NcclResult {
    delete &RankOf(comm);
    return 0;
  };
  nccl.Send = [](const void* from, size_t count, int type, int to,
                 cuda::NcclCommHandle comm,
                 cuda::StreamHandle stream) -> NcclResult {
    if (type != cuda::kNcclUint8) return kInvalidUsage;
    std::vector<std::byte> bytes(count);
    CHECK_EQ(fuzz::EmulatedDriver().MemcpyDtoHAsync(
                 bytes.data(), reinterpret_cast<cuda::DevicePointer>(from),
                 count, stream),
             cuda::kSuccess);
    Network& network = TheNetwork();
    std::lock_guard<std::mutex> lock(network.mutex);
    network.messages[{RankOf(comm).key, RankOf(comm).rank, to}].push_back(
        std::move(bytes));
    network.changed.notify_all();
    return 0;
  };
  nccl.Recv = [](void* to, size_t count, int type, int from,
                 cuda::NcclCommHandle comm,
                 cuda::StreamHandle stream) -> NcclResult {
    if (type != cuda::kNcclUint8) return kInvalidUsage;
    Network& network = TheNetwork();
    std::unique_lock<std::mutex> lock(network.mutex);
    auto& waiting =
        network.messages[{RankOf(comm).key, from, RankOf(comm).rank}];
    network.changed.wait(lock, [&] { return !waiting.empty(); });
    const std::vector<std::byte> bytes = std::move(waiting.front());
    waiting.pop_front();
    ++network.received;
    CHECK_EQ(bytes.size(), count);
    CHECK_EQ(fuzz::EmulatedDriver().MemcpyHtoDAsync(
                 reinterpret_cast<cuda::DevicePointer>(to), bytes.data(), count,
                 stream),
             cuda::kSuccess);
    return 0;
  };
  return nccl;
}

NdArray Ramp(int64_t rows) {
  NdArray array(DType::kF32, {rows, 5});
  absl::Span<float> values = array.values<float>();
  for (size_t k = 0; k < values.size(); ++k) {
    values[k] = static_cast<float>(k % 13) / 16 - 0.37f;
  }
  return array;
}

absl::StatusOr<std::string> HashAfterSteps(const Backend* backend,
                                           Communicator* ranks,
                                           int64_t bucket_bytes) {
  OCANNL_ASSIGN_OR_RETURN(
      DataParallel training,
      DataParallel::Make(
          backend,
          {.n_shards = 5,
           .threads = 2,
           .communicator = ranks,
           .bucket_bytes = bucket_bytes},
          {{"x", Ramp(20)}, {"y", Ramp(20)}},
          [](Model& model, absl::Span<const Tensor> batch) {
            Names names;
            names.tensors = {{"x", batch[0]}, {"y", batch[1]}};
            return Named(
                MustParseTensor(model.graph,
                                "((({w2 = 0.1; o=[5]} * relu ({w = 0.01; "
                                "o=[7]} * x)) - y) **. 2) ++ \"...|... => 0\"",
                                names),
                "loss");
          },
          [](Model& model, Tensor loss, const auto&) {
            return train::SgdUpdate(model, loss, Number(model.graph, 0.05), {});
          }));
  for (int step = 0; step < 5; ++step) {
    OCANNL_RETURN_IF_ERROR(training.Step());
  }
  OCANNL_RETURN_IF_ERROR(training.SyncRanks());
  return OwnerHash(training);
}

std::string Expected() {
  const interp::InterpBackend interp;
  auto hash = HashAfterSteps(&interp, nullptr, 0);
  CHECK_OK(hash);
  return *hash;
}

// Of rank `k`, on a GPU of its own as far as there are two; `nccl`: it has one.
std::unique_ptr<const cuda::CudaBackend> Gpu(
    int k, std::optional<NcclFunctions> nccl) {
  auto backend = cuda::CudaBackend::Open(
      {.device = k % 2}, fuzz::EmulatedDriver(),
      [](const std::string& text, const std::string&,
         const std::string&) -> absl::StatusOr<std::string> { return text; },
      "gcc",
      [nccl]() -> absl::StatusOr<NcclFunctions> {
        if (nccl) return *nccl;
        return absl::NotFoundError("no NCCL");
      });
  CHECK_OK(backend);
  return *std::move(backend);
}

TEST(NcclTest, RanksHaveTheBitsOfOneProcess) {
  const std::string expected = Expected();
  for (int ranks : {2, 3, 4}) {
    for (int64_t bucket_bytes : {0, 64}) {
      TheNetwork().received = 0;
      std::vector<std::string> hashes(ranks);
      EXPECT_THAT(OnRanks(ranks,
                          [&](Communicator& rank) -> absl::Status {
                            const auto gpu = Gpu(rank.rank(), EmulatedNccl());
                            OCANNL_ASSIGN_OR_RETURN(
                                hashes[rank.rank()],
                                HashAfterSteps(gpu.get(), &rank, bucket_bytes));
                            return absl::OkStatus();
                          }),
                  Each(IsOk()));
      EXPECT_THAT(hashes, Each(expected)) << ranks << ", " << bucket_bytes;
      // Two gradients and two parameters in each step, at least.
      EXPECT_GE(TheNetwork().received, 5 * 4);
    }
  }
}

// Without a network that connects all, messages go by way of the hosts.
TEST(NcclTest, AllRanksHaveItOrNone) {
  NcclFunctions refuses = EmulatedNccl();
  refuses.CommInitRank = [](cuda::NcclCommHandle*, int, cuda::NcclUniqueId,
                            int) -> NcclResult { return kInvalidUsage; };
  NcclFunctions makes_no_key = EmulatedNccl();
  makes_no_key.GetUniqueId = [](cuda::NcclUniqueId*) -> NcclResult {
    return kInvalidUsage;
  };
  const std::string expected = Expected();
  using Found = std::optional<NcclFunctions>;
  for (const auto& [first, second] :
       std::vector<std::pair<Found, Found>>{{EmulatedNccl(), std::nullopt},
                                            {std::nullopt, EmulatedNccl()},
                                            {refuses, refuses},
                                            {makes_no_key, EmulatedNccl()}}) {
    TheNetwork().received = 0;
    std::vector<std::string> hashes(2);
    EXPECT_THAT(
        OnRanks(2,
                [&](Communicator& rank) -> absl::Status {
                  const auto gpu =
                      Gpu(rank.rank(), rank.rank() == 0 ? first : second);
                  OCANNL_ASSIGN_OR_RETURN(hashes[rank.rank()],
                                          HashAfterSteps(gpu.get(), &rank, 0));
                  return absl::OkStatus();
                }),
        Each(IsOk()));
    EXPECT_THAT(hashes, Each(expected));
    EXPECT_EQ(TheNetwork().received, 0);
  }
}

TEST(NcclTest, SaysWhatFailed) {
  NcclFunctions broken = EmulatedNccl();
  broken.Send = [](const void*, size_t, int, int, cuda::NcclCommHandle,
                   cuda::StreamHandle) -> NcclResult { return 1; };
  // The other one would wait for the message.
  broken.Recv = [](void*, size_t, int, int, cuda::NcclCommHandle,
                   cuda::StreamHandle) -> NcclResult { return 1; };
  const auto results = OnRanks(2, [&](Communicator& rank) -> absl::Status {
    const auto gpu = Gpu(rank.rank(), broken);
    return HashAfterSteps(gpu.get(), &rank, 0).status();
  });
  EXPECT_THAT(results[0].message(),
              testing::HasSubstr("NCCL, message to rank 1: emulated"));
  EXPECT_THAT(results[1].message(),
              testing::HasSubstr("NCCL, message of rank 0: emulated"));
}

TEST(NcclTest, FindsTheLibraryOrSaysWhatToInstall) {
  const auto nccl = cuda::FindNccl();
  if (nccl.ok()) {
    EXPECT_STRNE(nccl->GetErrorString(kInvalidUsage), "");
  } else {
    EXPECT_THAT(nccl.status().message(), testing::HasSubstr("libnccl.so.2"));
  }
}

}  // namespace
}  // namespace ocannl
