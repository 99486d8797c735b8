// SPDX-License-Identifier: Apache-2.0
//
// LinkedCode: the code of a program, and where its buffers are.
#ifndef OCANNL_CORE_RUNTIME_LINKED_CODE_H_
#define OCANNL_CORE_RUNTIME_LINKED_CODE_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "ocannl/core/loop/ir.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/core/runtime/lineage.h"

namespace ocannl {

// Of the buffers of a program; null for scratch.
using DeviceArrays = IdVector<loop_ir::BufferId, std::shared_ptr<DeviceArray>>;

struct LinkedCode {
  std::shared_ptr<const LoopProgram> program;
  std::shared_ptr<const Executable> executable;
  DeviceArrays arrays;
  DeviceMemory arena;  // holds the scratch
  IdVector<loop_ir::BufferId, std::byte*> buffers;
};

// `executable`, compiled from `program`, on `arrays`. Error: no memory for the
// scratch.
absl::StatusOr<std::shared_ptr<const LinkedCode>> LinkCode(
    const Device& device, std::shared_ptr<const LoopProgram> program,
    std::shared_ptr<const Executable> executable, DeviceArrays arrays);

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_LINKED_CODE_H_
