// SPDX-License-Identifier: Apache-2.0
//
// Each stream of a GPU has a queue there. The emulated driver lets queues take
// turns at random, so that a wait which is missing changes what comes out.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/runtime/threads/worker.h"
#include "ocannl/core/runtime/virtual_devices.h"
#include "ocannl/cuda/cuda_backend.h"
#include "ocannl/emulation/emulated_cuda.h"
#include "ocannl/emulation/emulated_driver.h"
#include "ocannl/interp/interp_backend.h"
#include "tests/support/fit_squares.h"
#include "tests/support/must_parse.h"
#include "tests/support/owner_hash.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

std::string HashAfterSteps(const Backend* backend, int threads) {
  auto training = FitSquares(backend, {.n_shards = 4, .threads = threads},
                             "{w = 0.01; o=[5]} * x", 16, 5, 0.05);
  CHECK_OK(training);
  for (int step = 0; step < 12; ++step) CHECK_OK(training->Step());
  return OwnerHash(*training);
}

TEST(CudaStreamsTest, ShardsHaveTheInterpretersBits) {
  const std::string expected = HashAfterSteps(
      std::make_unique<const interp::InterpBackend>().get(), /*threads=*/1);
  for (int threads : {1, 2, 4}) {
    auto backend = emulation::OpenEmulatedCuda({});
    ASSERT_THAT(backend, IsOk());
    EXPECT_EQ(HashAfterSteps(backend->get(), threads), expected) << threads;
  }
}

absl::StatusOr<std::unique_ptr<const cuda::CudaBackend>> OpenWith(
    cuda::DriverFunctions driver) {
  return cuda::CudaBackend::Open(
      {}, std::move(driver),
      [](const std::string& text, const std::string&,
         const std::string&) -> absl::StatusOr<std::string> { return text; },
      "gcc");
}

// That the test above sees when a queue does not wait for another one.
TEST(CudaStreamsTest, AMissingWaitIsSeen) {
  cuda::DriverFunctions driver = emulation::EmulatedDriver();
  driver.StreamWaitEvent = [](cuda::StreamHandle, cuda::EventHandle, unsigned) {
    return cuda::kSuccess;
  };
  auto backend = OpenWith(driver);
  ASSERT_THAT(backend, IsOk());
  EXPECT_NE(
      HashAfterSteps(backend->get(), /*threads=*/1),
      HashAfterSteps(std::make_unique<const interp::InterpBackend>().get(), 1));
}

constexpr char kMore[] = R"(
more ():
  inout x : f32[70];
  for i0 = 0 to 69 { x[i0] := x[i0] * 0.5 + 1; }
)";

// Where kernels were launched.
std::set<cuda::StreamHandle>& Launched() {
  static auto* launched = new std::set<cuda::StreamHandle>();
  return *launched;
}

// A result is read while another stream is still at work; what the host writes
// next does not overtake the runs before it.
TEST(CudaStreamsTest, StreamsDoNotWaitForEachOther) {
  cuda::DriverFunctions driver = emulation::EmulatedDriver();
  driver.LaunchKernel = [](cuda::FunctionHandle function, unsigned x,
                           unsigned y, unsigned z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned bytes,
                           cuda::StreamHandle stream, void** parameters,
                           void** extra) {
    Launched().insert(stream);
    return emulation::EmulatedDriver().LaunchKernel(function, x, y, z, block_x,
                                                    block_y, block_z, bytes,
                                                    stream, parameters, extra);
  };
  auto backend = OpenWith(driver);
  ASSERT_THAT(backend, IsOk());
  const Device device("gpu", backend->get());
  int at_work = 0;
  for (bool has_worker : {false, true}) {
    Worker worker;
    Stream one(&device),
        two(&device, {.worker = has_worker ? &worker : nullptr});
    std::vector<Routine> routines;
    for (Stream* stream : {&one, &two}) {
      const Context context(stream);
      ASSERT_THAT(context.Write("x", NdArray(DType::kF32, {70})), IsOk());
      auto routine = context.CompileAndLink(MustParse(kMore));
      ASSERT_THAT(routine, IsOk());
      routines.push_back(*std::move(routine));
    }
    for (int round = 0; round < 20; ++round) {
      ASSERT_THAT(routines[1].Run(), IsOk());
      const Event event = two.Record();
      EXPECT_NE(event.WaitUntilSubmitted(), nullptr);
      ASSERT_THAT(routines[0].Run(), IsOk());
      ASSERT_THAT(routines[0].context().Read("x"), IsOk());
      at_work += !event.IsDone();
      ASSERT_THAT(routines[1].context().Write("x", NdArray(DType::kF32, {70})),
                  IsOk());
    }
    ASSERT_THAT(routines[1].Run(), IsOk());
    const Event last = two.Record();
    two.Sync();
    EXPECT_TRUE(last.IsDone());
    auto x = routines[1].context().Read("x");
    ASSERT_THAT(x, IsOk());
    EXPECT_THAT(x->values<float>(), testing::Each(1.0f));
    EXPECT_THAT(Launched(), testing::SizeIs(2));
    EXPECT_FALSE(Launched().contains(nullptr));  // the legacy stream
    Launched().clear();
  }
  EXPECT_GT(at_work, 0);
}

// Through all of them and back; on one GPU without a wait of the host.
TEST(CudaStreamsTest, ArraysGoFromQueueToQueue) {
  auto first = emulation::OpenEmulatedCuda({.device = 0});
  auto second = emulation::OpenEmulatedCuda({.device = 1});
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  const interp::InterpBackend interp;
  for (const auto& backends : std::vector<std::vector<const Backend*>>{
           {first->get(), first->get(), first->get()},
           {first->get(), second->get(), first->get()},
           {first->get(), &interp, second->get()}}) {
    Worker worker;  // outlives the streams
    std::vector<std::unique_ptr<VirtualDevice>> devices;
    std::vector<Routine> routines;
    for (const Backend* backend : backends) {
      devices.push_back(std::make_unique<VirtualDevice>(
          "device", backend, devices.size() == 1 ? &worker : nullptr));
      const Context& context = devices.back()->context;
      ASSERT_THAT(context.Write("x", NdArray(DType::kF32, {70})), IsOk());
      auto routine = context.CompileAndLink(MustParse(kMore));
      ASSERT_THAT(routine, IsOk());
      routines.push_back(*std::move(routine));
    }
    float expected = 0;
    for (int round = 0; round < 10; ++round) {
      for (size_t k = 0; k < routines.size(); ++k) {
        ASSERT_THAT(routines[k].Run(), IsOk());
        expected = expected * 0.5f + 1;
        const size_t next = (k + 1) % routines.size();
        ASSERT_THAT(routines[next].context().Copy("x", routines[k].context()),
                    IsOk());
      }
    }
    auto x = routines[0].context().Read("x");
    ASSERT_THAT(x, IsOk());
    EXPECT_THAT(x->values<float>(), testing::Each(expected));
  }
}

}  // namespace
}  // namespace ocannl
