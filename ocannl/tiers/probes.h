// SPDX-License-Identifier: Apache-2.0
//
// Probes: what the machine can do at this moment, measured in well under a
// millisecond. Timings beside a probe of the same moment can be compared where
// clocks and neighbours change.
//
//   OCANNL_ASSIGN_OR_RETURN(Probes probes, Probes::Make(/*threads=*/2));
//   double flops_per_second = probes.Rate(ProbeKind::kFma);
#ifndef OCANNL_TIERS_PROBES_H_
#define OCANNL_TIERS_PROBES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/runtime/device_memory.h"

namespace ocannl {

enum class ProbeKind : uint8_t {
  kFma,         // flops: independent f32 fused multiply-adds in registers
  kClock,       // cycles of one core
  kL1Copy,      // bytes read and written, y = c * x, half of the L1 cache
  kCacheCopy,   // the same, half of the L2 cache
  kCacheRead,   // bytes read, half of the L2 cache
  kL3Copy,      // bytes read and written, at most a quarter of the L3 cache
  kMemoryCopy,  // bytes read and written past the caches, 256 MiB
  kMemoryRead,  // bytes read, the same
};

absl::string_view Name(ProbeKind kind);    // "fma"
absl::string_view UnitOf(ProbeKind kind);  // "GF/s"

// The bytes that one thread's probe works on: 0 in registers.
int64_t ProbeBytes(ProbeKind kind);

// The processor's model, as /proc/cpuinfo has it, or "unknown".
std::string ProcessorName();

class Probes {
 public:
  // Error: a processor without AVX2 and FMA.
  static absl::StatusOr<Probes> Make(int threads);

  int threads() const { return threads_; }

  // One sample on all threads at once, in flops, bytes or cycles per second;
  // kClock is of one thread.
  double Rate(ProbeKind kind);

 private:
  // What one thread of a probe works on.
  struct Stream {
    DeviceMemory memory;
    int64_t at = 0;  // where the next sample begins
  };

  explicit Probes(int threads) : threads_(threads) {}
  std::vector<Stream>& StreamsOf(int64_t bytes);
  static double RateOfThread(ProbeKind kind, Stream& stream);
  // Reads, or reads and writes, all of a cache's bytes or the next of memory's;
  // gives how many.
  static double Move(ProbeKind kind, Stream& stream);

  int threads_;
  std::map<int64_t, std::vector<Stream>> streams_;  // by their bytes
};

}  // namespace ocannl

#endif  // OCANNL_TIERS_PROBES_H_
