// SPDX-License-Identifier: Apache-2.0
//
// Ranks whose GPUs send each other gradients and parameters: the bits of one
// process. GPUs are emulated, and so is NCCL, on their streams.
#include "ocannl/cuda/nccl.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/cuda/cuda_backend.h"
#include "ocannl/emulation/emulated_driver.h"
#include "ocannl/emulation/emulated_nccl.h"
#include "ocannl/interp/interp_backend.h"
#include "ocannl/train/parallel/data_parallel.h"
#include "tests/support/fit_squares.h"
#include "tests/support/owner_hash.h"
#include "tests/support/ranks.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using cuda::NcclFunctions;
using cuda::NcclResult;
using testing::Each;
using train::Communicator;

constexpr NcclResult kInvalidUsage = 5;  // ncclInvalidUsage

absl::StatusOr<train::DataParallel> Training(const Backend* backend,
                                             Communicator* ranks,
                                             int64_t bucket_bytes) {
  return FitSquares(backend,
                    {.n_shards = 5,
                     .threads = 2,
                     .communicator = ranks,
                     .bucket_bytes = bucket_bytes},
                    "{w2 = 0.1; o=[5]} * relu ({w = 0.01; o=[7]} * x)", 20, 5,
                    0.05);
}

absl::StatusOr<std::string> HashAfterSteps(const Backend* backend,
                                           Communicator* ranks,
                                           int64_t bucket_bytes) {
  OCANNL_ASSIGN_OR_RETURN(train::DataParallel training,
                          Training(backend, ranks, bucket_bytes));
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

std::unique_ptr<const cuda::CudaBackend> Gpu(
    int device, std::optional<NcclFunctions> nccl = emulation::EmulatedNccl()) {
  cuda::DriverFunctions driver = emulation::EmulatedDriver();
  driver.DeviceGetCount = [](int* count) -> cuda::Result {
    *count = 4;
    return cuda::kSuccess;
  };
  auto backend = cuda::CudaBackend::Open(
      {.device = device}, driver,
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
      const int before = emulation::NumNcclMessages();
      std::vector<std::string> hashes(ranks);
      EXPECT_THAT(OnRanks(ranks,
                          [&](Communicator& rank) -> absl::Status {
                            const auto gpu = Gpu(rank.rank());
                            OCANNL_ASSIGN_OR_RETURN(
                                hashes[rank.rank()],
                                HashAfterSteps(gpu.get(), &rank, bucket_bytes));
                            return absl::OkStatus();
                          }),
                  Each(IsOk()));
      EXPECT_THAT(hashes, Each(expected)) << ranks << ", " << bucket_bytes;
      // Two gradients and two parameters in each step, at least.
      EXPECT_GE(emulation::NumNcclMessages(), before + 5 * 4);
    }
  }
}

// Without a network that connects all, messages go by way of the hosts.
TEST(NcclTest, AllRanksHaveItOrNone) {
  NcclFunctions refuses = emulation::EmulatedNccl();
  refuses.CommInitRank = [](cuda::NcclCommHandle* comm, int ranks,
                            cuda::NcclUniqueId id, int rank) -> NcclResult {
    const NcclFunctions nccl = emulation::EmulatedNccl();
    nccl.CommInitRank(comm, ranks, id, rank);
    nccl.CommAbort(*comm);
    return kInvalidUsage;
  };
  NcclFunctions makes_no_key = emulation::EmulatedNccl();
  makes_no_key.GetUniqueId = [](cuda::NcclUniqueId*) -> NcclResult {
    return kInvalidUsage;
  };
  const std::string expected = Expected();
  struct Case {
    std::optional<NcclFunctions> first, second;
    int second_device = 1;
  };
  for (const Case& found : std::vector<Case>{
           {emulation::EmulatedNccl(), std::nullopt},
           {std::nullopt, emulation::EmulatedNccl()},
           {emulation::EmulatedNccl(), refuses},
           {makes_no_key, emulation::EmulatedNccl()},
           {emulation::EmulatedNccl(), emulation::EmulatedNccl(), 0}}) {
    const int before = emulation::NumNcclMessages();
    std::vector<std::string> hashes(2);
    EXPECT_THAT(
        OnRanks(2,
                [&](Communicator& rank) -> absl::Status {
                  const bool is_first = rank.rank() == 0;
                  const auto gpu = Gpu(is_first ? 0 : found.second_device,
                                       is_first ? found.first : found.second);
                  OCANNL_ASSIGN_OR_RETURN(hashes[rank.rank()],
                                          HashAfterSteps(gpu.get(), &rank, 0));
                  return absl::OkStatus();
                }),
        Each(IsOk()));
    EXPECT_THAT(hashes, Each(expected));
    EXPECT_EQ(emulation::NumNcclMessages(), before);
  }
}

// A rank that gives up does not wait for messages that nobody will send.
TEST(NcclTest, ARankEndsWhileItWaitsForAnother) {
  EXPECT_THAT(OnRanks(2,
                      [&](Communicator& rank) -> absl::Status {
                        const auto gpu = Gpu(rank.rank());
                        OCANNL_ASSIGN_OR_RETURN(
                            train::DataParallel training,
                            Training(gpu.get(), &rank, /*bucket_bytes=*/64));
                        OCANNL_RETURN_IF_ERROR(training.Step());
                        return rank.rank() == 0 ? training.RunGradients()
                                                : absl::OkStatus();
                      }),
              Each(IsOk()));
}

TEST(NcclTest, SaysWhatFailed) {
  NcclFunctions broken = emulation::EmulatedNccl();
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
