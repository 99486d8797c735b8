// SPDX-License-Identifier: Apache-2.0
//
// The tier auto with an emulated GPU, which computes nothing before somebody
// waits, and whose memory the host cannot follow.
#ifndef TESTS_CUDA_MIGRATION_H_
#define TESTS_CUDA_MIGRATION_H_

#include <limits>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tiering/gpu_tier.h"
#include "ocannl/core/tiering/migration_cost.h"
#include "ocannl/core/tiering/tiered_backend.h"
#include "ocannl/cuda/cuda_backend.h"
#include "ocannl/emulation/emulated_driver.h"
#include "ocannl/interp/interp_backend.h"
#include "ocannl/tiers/tiers.h"

namespace ocannl {

// A run takes 40 s on the host and nothing on the GPU; to copy x takes 70 s.
inline MigrationCosts TestCosts() {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  return {.host = {.flops_per_second = 1e30,
                   .bytes_per_second = 1e30,
                   .nest_seconds = 10},
          .gpu = {.flops_per_second = kInfinite,
                  .bytes_per_second = kInfinite,
                  .nest_seconds = 0},
          .copy_seconds = 0,
          .copied_bytes_per_second = 320. / 70,
          .compile_seconds = 0,
          .compile_nest_seconds = 0,
          .open_seconds = 0};
}

inline absl::StatusOr<std::unique_ptr<const cuda::CudaBackend>> OpenEmulated(
    const cuda::DriverFunctions& driver) {
  return cuda::CudaBackend::Open(
      {}, driver,
      [](const std::string& text, const std::string&,
         const std::string&) -> absl::StatusOr<std::string> { return text; },
      "gcc");
}

class MigrationTest : public testing::Test {
 protected:
  ~MigrationTest() override { emulation::FailCall(0); }

  // The tier auto with an emulated GPU that `driver` drives.
  std::unique_ptr<TieredBackend> Auto(
      const MigrationCosts& costs,
      const cuda::DriverFunctions& driver = emulation::EmulatedDriver(),
      bool background = false) {
    auto open = [this, costs, driver]() -> absl::StatusOr<GpuTier::Opened> {
      OCANNL_ASSIGN_OR_RETURN(cuda_, OpenEmulated(driver));
      return GpuTier::Opened{
          .backend = cuda_.get(), .costs = costs, .note = "costs of the test"};
    };
    auto x86 = FindTier("x86");
    CHECK_OK(x86);
    return std::make_unique<TieredBackend>(
        Tiering{.first = &interp_,
                .second = *x86,
                .compile_seconds = 0,
                .gpu = std::make_shared<GpuTier>(open, costs)},
        TieredOptions{.report = true, .background = background});
  }

  interp::InterpBackend interp_;
  std::unique_ptr<const cuda::CudaBackend> cuda_;  // ends after what uses it
};

inline NdArray Ramp(const Dims& dims, int first) {
  NdArray array(DType::kF32, dims);
  for (float& value : array.values<float>()) {
    value = 0.01f * static_cast<float>(first++);
  }
  return array;
}

}  // namespace ocannl

#endif  // TESTS_CUDA_MIGRATION_H_
