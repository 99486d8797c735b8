// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/merge_buffer.h"

#include "absl/status/status.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/tensor/memory_mode.h"

namespace ocannl {

absl::StatusOr<std::shared_ptr<DeviceArray>> MergeBuffer::PlaceOf(
    absl::string_view name, DType dtype, const Dims& dims) {
  std::erase_if(places_, [](const auto& place) { return place.expired(); });
  for (const std::weak_ptr<DeviceArray>& weak : places_) {
    std::shared_ptr<DeviceArray> place = weak.lock();
    if (place->name == name && place->dtype == dtype && place->dims == dims) {
      return place;
    }
  }
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> place,
                          MakeDeviceArray(*device_, name, dtype, dims));
  places_.push_back(place);
  return place;
}

absl::StatusOr<std::string> MergedArray(const LoopProgram& program,
                                        const Buffer& merge) {
  absl::string_view name = merge.name;
  if (!absl::ConsumeSuffix(&name, kMergeSuffix)) {
    return UserError("routine `", program.name, "` has the merge buffer `",
                     merge.name, "`, which names no array; call it `",
                     merge.name, kMergeSuffix,
                     "` if that of another context is `", merge.name, "`");
  }
  for (const Buffer& other : program.buffers) {
    if (other.role != Role::kMerge || &other == &merge) continue;
    return UserError("routine `", program.name, "` reads `", merge.name,
                     "` and `", other.name,
                     "`, but a stream has one merge buffer; make two routines ",
                     "of it");
  }
  return std::string(name);
}

}  // namespace ocannl
