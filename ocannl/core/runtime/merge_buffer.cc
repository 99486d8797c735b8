// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/merge_buffer.h"

#include "ocannl/core/base/status_macros.h"

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

}  // namespace ocannl
