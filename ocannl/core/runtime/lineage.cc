// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/lineage.h"

#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

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
