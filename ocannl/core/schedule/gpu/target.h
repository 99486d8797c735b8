// SPDX-License-Identifier: Apache-2.0
//
// GpuTarget: what schedules depend on of a GPU; results do not.
#ifndef OCANNL_CORE_SCHEDULE_GPU_TARGET_H_
#define OCANNL_CORE_SCHEDULE_GPU_TARGET_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace ocannl::gpu {

struct GpuTarget {
  int64_t threads;          // of a block, if there is work for all
  int64_t warp;             // threads that run together: no block has fewer
  int64_t multiprocessors;  // SMs; 0: do not split work to fill them
  int64_t shared_bytes;     // of a block
  // A product's tile: a thread computes at most `tile` rows and columns, and
  // shared memory has `steps` of the reduction at once.
  int64_t tile;
  int64_t steps;
  // What reads of a multiprocessor's threads have on their way at full rate:
  // the rate of the memory times its latency (Little's law).
  int64_t bytes_in_flight;
};

// Small programs have many blocks, ragged edges and full memory on it.
inline constexpr GpuTarget kTinyGpu{.threads = 8,
                                    .warp = 4,
                                    .multiprocessors = 3,
                                    .shared_bytes = 1024,
                                    .tile = 2,
                                    .steps = 4,
                                    .bytes_in_flight = 64};
inline constexpr GpuTarget kMiddleGpu{.threads = 36,
                                      .warp = 6,
                                      .multiprocessors = 5,
                                      .shared_bytes = 8 * 1024,
                                      .tile = 4,
                                      .steps = 8,
                                      .bytes_in_flight = 1024};
// Compute capability 9.0, H200. The threads and tiles are those that are usual
// for such GPUs; none has measured them. The bytes are 4.8 TB/s for 1.1 us.
inline constexpr GpuTarget kSm90{.threads = 256,
                                 .warp = 32,
                                 .multiprocessors = 132,
                                 .shared_bytes = 227 * 1024,
                                 .tile = 8,
                                 .steps = 16,
                                 .bytes_in_flight = 40 * 1000};
// Compute capability 8.0, A100; likewise.
inline constexpr GpuTarget kSm80{.threads = 256,
                                 .warp = 32,
                                 .multiprocessors = 108,
                                 .shared_bytes = 163 * 1024,
                                 .tile = 8,
                                 .steps = 16,
                                 .bytes_in_flight = 40 * 1000};

// GPUs as their compilers call them; null: no such target.
inline const GpuTarget* FindGpuTarget(absl::string_view architecture) {
  if (architecture == "sm_80") return &kSm80;
  return architecture == "sm_90" ? &kSm90 : nullptr;
}

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_SCHEDULE_GPU_TARGET_H_
