// SPDX-License-Identifier: Apache-2.0
//
// The kernels of emulated GPUs: functions of a text of CUDA C, which gcc
// compiles with what a GPU has around it (emulated_device.h).
#ifndef OCANNL_EMULATION_EMULATED_KERNELS_H_
#define OCANNL_EMULATION_EMULATED_KERNELS_H_

#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/system/shared_library.h"
#include "ocannl/cuda/driver.h"

namespace ocannl::emulation {

// Addresses of a device have this bit, and those of the host do not.
inline constexpr cuda::DevicePointer kDeviceBit = cuda::DevicePointer{1} << 62;

inline char* HostAddress(cuda::DevicePointer address) {
  return reinterpret_cast<char*>(address ^ kDeviceBit);
}

using Library = std::shared_ptr<const SharedLibrary>;

// The library of a text's kernels; one that comes again is not compiled again.
// Not thread-safe. Error: it does not compile.
absl::StatusOr<Library> CompileKernels(const std::string& text);

struct Function {
  Library code;
  void (*kernel)();
  std::shared_ptr<unsigned> runs;
};

struct Call {
  // Blocks and threads one after the other, in another order each time.
  void Run() const;

  Function function;
  unsigned blocks, threads;
  std::vector<long> arguments;
  std::vector<size_t> after;  // which calls of a graph it waits for
};

// In a random order that they allow.
void RunGraph(absl::Span<const Call> calls, std::mt19937& random);

}  // namespace ocannl::emulation

#endif  // OCANNL_EMULATION_EMULATED_KERNELS_H_
