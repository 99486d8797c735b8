// SPDX-License-Identifier: Apache-2.0
//
// Programs of tier auto move to a GPU and back, with their arrays. The GPU is
// an emulated one, which computes nothing before somebody waits, and whose
// memory the host cannot follow. Takes about 10 s.
#include "tests/cuda/migration.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tiering/checking_backend.h"
#include "ocannl/core/tiering/gpu_tier.h"
#include "ocannl/core/tiering/measure_costs.h"
#include "ocannl/core/tiering/migration_cost.h"
#include "ocannl/core/tiering/tiered_backend.h"
#include "ocannl/cuda/cuda_backend.h"
#include "ocannl/emulation/emulated_driver.h"
#include "tests/support/fit_squares.h"
#include "tests/support/must_parse.h"
#include "tests/support/owner_hash.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// A step of gradient descent on w, for a row of x.
constexpr char kStep[] = R"(
step (k : [0..9]):
  in x : f32[10, 8]; inout w : f32[8]; out loss : f32[1]; temp e : f32[8];
  for i0 = 0 to 7 { e[i0] := x[k, i0] * w[i0] - 1; }
  loss[0] := 0;
  for i1 = 0 to 7 { loss[0] := loss[0] + e[i1] * e[i1]; }
  for i2 = 0 to 7 { w[i2] := w[i2] - 0.01 * e[i2] * x[k, i2]; }
)";

// What ten steps leave, in bits; between them the host writes x and reads what
// it wants.
std::string TenSteps(const Backend& backend, const char* read_each_step) {
  Device device("device", &backend);
  Stream stream(&device);
  Context context(&stream);
  CHECK_OK(context.Write("w", Ramp({8}, 3)));
  auto step = context.CompileAndLink(MustParse(kStep));
  CHECK_OK(step);
  std::string bits;
  auto add = [&](const char* name) {
    auto values = context.Read(name);
    CHECK_OK(values);
    bits.append(reinterpret_cast<const char*>(values->data()), values->bytes());
  };
  for (int k = 0; k < 10; ++k) {
    CHECK_OK(context.Write("x", Ramp({10, 8}, k)));
    CHECK_OK(step->Set("k", k));
    CHECK_OK(step->Run());
    if (read_each_step != nullptr) add(read_each_step);
  }
  for (const char* name : {"x", "w", "loss"}) add(name);
  return bits;
}

TEST_F(MigrationTest, TenStepsThereAndBackLeaveTheSameBits) {
  for (const char* name : {(const char*)nullptr, "x", "w", "loss"}) {
    const std::string expected = TenSteps(interp_, name);
    auto backend = Auto(TestCosts());
    EXPECT_EQ(TenSteps(*backend, name), expected);
    EXPECT_THAT(
        backend->Report(),
        HasSubstr(
            "  after 4 runs, prepares the GPU: 4 runs take 1.6e+05 ms on "
            "the host, and 0 ms on the GPU; moving takes 1.56e+05 ms\n"
            "  after 4 runs, moves to the GPU: 4 runs take 1.6e+05 ms on "
            "the host, and 0 ms on the GPU; moving takes 1.56e+05 ms\n"
            "  after 9 runs, moves to the host: 5 runs take 2.8e+05 ms on "
            "the GPU, and 2e+05 ms on the host; moving takes 7.79e+04 "
            "ms\n"
            "  5 runs on the GPU; now on the host: 1 runs take 4e+04 ms "
            "on the host, and 5.6e+04 ms on the GPU; moving takes "
            "1.56e+05 ms\n"));
    EXPECT_THAT(backend->Report(), HasSubstr("GPU: costs of the test\n"));
  }
}

TEST_F(MigrationTest, RunsThereAndBackAreChecked) {
  auto backend = Auto(TestCosts());
  EXPECT_EQ(TenSteps(CheckingBackend(&interp_, backend.get()), nullptr),
            TenSteps(interp_, nullptr));
  EXPECT_THAT(backend->Report(), HasSubstr("moves to the GPU"));
}

// A checkpoint after each run, and none before the end.
TEST_F(MigrationTest, CheckpointsChangeNoBits) {
  const std::string expected = TenSteps(interp_, nullptr);
  for (const double gpu_seconds : {0., 1e9}) {
    MigrationCosts costs = TestCosts();
    costs.host.nest_seconds = 1e12;
    costs.gpu.nest_seconds = gpu_seconds;
    auto backend = Auto(costs);
    EXPECT_EQ(TenSteps(*backend, nullptr), expected);
    EXPECT_THAT(backend->Report(), HasSubstr("  9 runs on the GPU; now there"));
  }
}

TEST_F(MigrationTest, HostRunsWhileTheGpuIsPrepared) {
  const std::string expected = TenSteps(interp_, "w");
  MigrationCosts costs = TestCosts();
  costs.gpu.nest_seconds = 1;
  costs.copied_bytes_per_second = 1e9;
  auto backend = Auto(costs, emulation::EmulatedDriver(), /*background=*/true);
  while (backend->Report().find("runs on the GPU; now there") ==
         std::string::npos) {
    EXPECT_EQ(TenSteps(*backend, "w"), expected);
  }
  EXPECT_EQ(TenSteps(*backend, "w"), expected);
}

// Whichever call of the driver fails, the host goes on with what there was.
TEST_F(MigrationTest, NothingIsLostWhenTheGpuFails) {
  const std::string expected = TenSteps(interp_, "loss");
  emulation::FailCall(0);
  EXPECT_EQ(TenSteps(*Auto(TestCosts()), "loss"), expected);
  const int calls = emulation::FailCall(0);
  EXPECT_GT(calls, 100);
  int failed = 0;
  for (int n = 1; n <= calls; ++n) {
    emulation::FailCall(n);
    auto backend = Auto(TestCosts());
    EXPECT_EQ(TenSteps(*backend, "loss"), expected) << n;
    failed += backend->Report().find("CUDA, ") != std::string::npos;
  }
  EXPECT_GT(failed, calls / 2);
}

// How many bytes the GPU has left.
std::atomic<int64_t> bytes_left = 0;

TEST_F(MigrationTest, NothingIsLostWhenTheGpuHasNoMemory) {
  static const cuda::DriverFunctions emulated = emulation::EmulatedDriver();
  cuda::DriverFunctions driver = emulated;
  driver.MemAlloc = [](cuda::DevicePointer* address, size_t bytes) {
    bytes_left -= static_cast<int64_t>(bytes);
    return bytes_left < 0 ? cuda::kOutOfMemory
                          : emulated.MemAlloc(address, bytes);
  };
  const std::string expected = TenSteps(interp_, "w");
  for (int64_t bytes : {0, 100, 330, 350, 360}) {
    bytes_left = bytes;
    auto backend = Auto(TestCosts(), driver);
    EXPECT_EQ(TenSteps(*backend, "w"), expected) << bytes;
    EXPECT_THAT(backend->Report(), HasSubstr("stays on the host: CUDA, "));
  }
  bytes_left = 1 << 20;
  auto backend = Auto(TestCosts(), driver);
  EXPECT_EQ(TenSteps(*backend, "w"), expected);
  EXPECT_THAT(backend->Report(), HasSubstr("5 runs on the GPU"));
}

// Contexts copy and share arrays, on several threads.
TEST_F(MigrationTest, ShardsOfATrainingHaveTheSameHash) {
  auto hash = [](const Backend& backend, int threads) {
    auto training = FitSquares(&backend, {.n_shards = 4, .threads = threads},
                               "{w = 0.01; o=[5]} * x", 16, 5, 0.05);
    CHECK_OK(training);
    for (int step = 0; step < 10; ++step) CHECK_OK(training->Step());
    return OwnerHash(*training);
  };
  const std::string expected = hash(interp_, 1);
  for (int threads : {1, 2}) {
    auto backend = Auto(TestCosts());
    EXPECT_EQ(hash(*backend, threads), expected);
    EXPECT_THAT(backend->Report(), HasSubstr("moves to the GPU"));
    // The first of the 40 runs are on the host; how many depends on the order
    // in which the threads of the shards ask.
    EXPECT_THAT(backend->Report(),
                ContainsRegex("3[5-9] runs on the GPU; now there"));
  }
  emulation::FailCall(0);
  EXPECT_EQ(hash(*Auto(TestCosts()), 1), expected);
  const int calls = emulation::FailCall(0);
  for (int n = 1; n <= calls; n += 7) {
    emulation::FailCall(n);
    EXPECT_EQ(hash(*Auto(TestCosts()), 2), expected) << n;
  }
}

TEST_F(MigrationTest, AGpuThatCannotBeOpenedIsSaid) {
  TieredBackend backend(
      {.first = &interp_,
       .second = &interp_,
       .gpu = std::make_shared<GpuTier>(
           [] { return absl::NotFoundError("no driver"); }, TestCosts())},
      {.report = true, .background = false});
  EXPECT_EQ(TenSteps(backend, "w"), TenSteps(interp_, "w"));
  EXPECT_THAT(backend.Report(), HasSubstr("stays on the host: no driver\n"));
  EXPECT_THAT(backend.Report(), HasSubstr("GPU: not used: no driver\n"));
}

TEST_F(MigrationTest, CostsAreMeasured) {
  auto gpu = OpenEmulated(emulation::EmulatedDriver());
  ASSERT_THAT(gpu, IsOk());
  double seconds = 0;
  auto now = [&] { return seconds += 0.5; };  // per look at the clock
  auto costs =
      MeasureMigrationCosts(interp_, **gpu, now, {.cells = 1024, .rows = 16});
  ASSERT_THAT(costs, IsOk());
  EXPECT_EQ(costs->host.flops_per_second, 2 * 16 * 16 * 16 / 0.5);
  EXPECT_EQ(costs->gpu.bytes_per_second, 8 * 1024 / 0.5);
  EXPECT_EQ(costs->gpu.nest_seconds, 0.5 / 8);
  EXPECT_EQ(costs->copy_seconds, 0.25);
  EXPECT_EQ(costs->copied_bytes_per_second, 4 * 1024 / 0.25);
  EXPECT_EQ(costs->compile_seconds, 0.5);
  EXPECT_EQ(costs->compile_nest_seconds, 0);
}

}  // namespace
}  // namespace ocannl
