// SPDX-License-Identifier: Apache-2.0
//
// ForecastLaunches: how fast the kernels of a scheduled program are, without a
// GPU: blocks, threads, and bytes on their way to a processor. By Little's law
// these over the latency are the rate of reading (Volkov, Understanding latency
// hiding on GPUs, 2016).
//
//   kernel   blocks  threads  shared  KB/SM  waits  chain    us  of copy
//   t          2048      256       0  117.4      9    128  75.7    0.974
//   u           128       32       0    5.3      3    128   5.3    0.109
//
//   KB/SM    bytes that the reads of a processor's threads have on their way
//   waits    for which a thread stops: reads of one unrolled body are one
//   chain    operations of a thread that need the result of the one before
//   of copy  the rate of reading and writing against that of a copy
//
// A forecast is an estimate for one H200. tools/gpu_check.sh measures.
#ifndef OCANNL_CUDA_LAUNCH_FORECAST_H_
#define OCANNL_CUDA_LAUNCH_FORECAST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ocannl/core/loop/loop.h"

namespace ocannl::cuda {

struct LaunchForecast {
  std::string writes;  // the arrays that the kernel writes
  int64_t blocks = 1;
  int64_t threads = 1;         // of a block
  int64_t shared_bytes = 0;    // of a block
  double bytes = 0;            // read and written in memory, each cell once
  double bytes_in_flight = 0;  // of a multiprocessor
  double waits = 0;            // of a thread for memory
  double chain = 0;    // operations of a thread that need the one before
  double seconds = 0;  // from the start of the kernel to its end
  double of_copy = 0;  // the time of copying `bytes`, over `seconds`
};

// One for each kernel that cuda::WriteKernels makes of a `grid` nest.
std::vector<LaunchForecast> ForecastLaunches(const LoopProgram& scheduled);

// A line for each of them, and their sum.
std::string PrintLaunches(const std::vector<LaunchForecast>& launches);

}  // namespace ocannl::cuda

#endif  // OCANNL_CUDA_LAUNCH_FORECAST_H_
