// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/make_call.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::cuda {
namespace {

// Of a kernel on every GPU: 4096 bytes of arguments, and the blocks of one axis
// (CUDA C++ Programming Guide, "Function Parameters" and "Technical
// Specifications per Compute Capability").
constexpr int64_t kMaxArguments = 4096 / sizeof(DevicePointer);
constexpr int64_t kMaxBlocks = std::numeric_limits<int32_t>::max();

absl::Status CheckCount(absl::string_view kernel, int64_t count,
                        absl::string_view what, int64_t most) {
  if (count <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("kernel ", kernel, " has ",
                                                   count, " ", what,
                                                   ", and a GPU takes ", most));
}

}  // namespace

absl::StatusOr<KernelCall> MakeCall(const Module& module, const Kernel& kernel,
                                    const std::string& name, size_t arguments) {
  OCANNL_RETURN_IF_ERROR(CheckCount(name, static_cast<int64_t>(arguments),
                                    "arguments", kMaxArguments));
  OCANNL_RETURN_IF_ERROR(CheckCount(name, kernel.blocks, "blocks", kMaxBlocks));
  OCANNL_ASSIGN_OR_RETURN(const FunctionHandle function,
                          module.Find(name, kernel.shared_bytes));
  return KernelCall{.function = function,
                    .blocks = kernel.blocks,
                    .threads = kernel.threads,
                    .shared_bytes = kernel.shared_bytes,
                    .arguments = std::vector<const std::byte*>(arguments),
                    .after = {}};
}

}  // namespace ocannl::cuda
