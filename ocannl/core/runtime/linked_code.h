// SPDX-License-Identifier: Apache-2.0
//
// LinkedCode: the code of a program, and where its buffers are.
#ifndef OCANNL_CORE_RUNTIME_LINKED_CODE_H_
#define OCANNL_CORE_RUNTIME_LINKED_CODE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/loop/ir.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/core/runtime/lineage.h"

namespace ocannl {

struct LinkedCode {
  LoopProgram program;
  std::shared_ptr<const Executable> executable;
  std::vector<std::shared_ptr<DeviceArray>> arrays;  // null for scratch
  DeviceMemory arena;                                // holds the scratch
  std::vector<std::byte*> buffers;                   // those of the program
};

// `executable`, compiled from `program`, on `arrays`: one for each buffer that
// is not scratch, else null. Error: no memory for the scratch.
absl::StatusOr<std::shared_ptr<const LinkedCode>> LinkCode(
    const Device& device, LoopProgram program,
    std::shared_ptr<const Executable> executable,
    std::vector<std::shared_ptr<DeviceArray>> arrays);

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_LINKED_CODE_H_
