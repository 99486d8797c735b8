// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/lineage.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/index/byte_size.h"

namespace ocannl {
namespace {

using Arrays = absl::Span<const DeviceArray* const>;

const DeviceArray* FirstCommon(Arrays a, Arrays b) {
  auto found = absl::c_find_if(a, [&](const DeviceArray* array) {
    return absl::c_linear_search(b, array);
  });
  return found == a.end() ? nullptr : *found;
}

std::optional<Conflict> ConflictOf(
    const std::shared_ptr<const LinkedRoutine>& earlier,
    const LinkedRoutine& later) {
  Hazard hazard = Hazard::kReadAfterWrite;
  const DeviceArray* array = FirstCommon(later.reads, earlier->writes);
  if (array == nullptr) {
    hazard = Hazard::kWriteAfterRead;
    array = FirstCommon(later.writes, earlier->reads);
  }
  if (array == nullptr) {
    hazard = Hazard::kWriteAfterWrite;
    array = FirstCommon(later.writes, earlier->writes);
  }
  if (array == nullptr) return std::nullopt;
  return Conflict{.earlier = earlier, .array = array->name, .hazard = hazard};
}

}  // namespace

absl::StatusOr<std::shared_ptr<DeviceArray>> MakeDeviceArray(
    const Device& device, absl::string_view name, DType dtype,
    const Dims& dims) {
  OCANNL_ASSIGN_OR_RETURN(int64_t bytes, ByteSize(dtype, dims));
  OCANNL_ASSIGN_OR_RETURN(DeviceMemory memory, device.Allocate(bytes));
  return std::make_shared<DeviceArray>(DeviceArray{.name = std::string(name),
                                                   .dtype = dtype,
                                                   .dims = dims,
                                                   .memory = std::move(memory),
                                                   .written = false});
}

std::vector<Conflict> Conflicts(const Lineage& lineage,
                                const LinkedRoutine& later) {
  std::vector<Conflict> conflicts;
  for (const LineageNode* node = lineage.get(); node != nullptr;
       node = node->before.get()) {
    std::optional<Conflict> conflict = ConflictOf(node->routine, later);
    if (conflict) conflicts.push_back(*std::move(conflict));
  }
  return conflicts;
}

std::string Describe(const Conflict& conflict, const LinkedRoutine& later) {
  bool reads = conflict.hazard == Hazard::kReadAfterWrite;
  bool read = conflict.hazard == Hazard::kWriteAfterRead;
  return absl::StrCat(
      "routine `", later.name, "` ", reads ? "reads" : "writes", " `",
      conflict.array, "`, which `", conflict.earlier->name, "`, linked before ",
      "it, ", read ? "reads" : "writes", ", but `", conflict.earlier->name,
      "` has never run; run `", conflict.earlier->name, "` first");
}

}  // namespace ocannl
