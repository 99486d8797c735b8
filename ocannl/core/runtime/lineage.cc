// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/lineage.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/tensor/memory_mode.h"

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

std::vector<std::string> NamesOf(Arrays arrays) {
  std::vector<std::string> names;
  for (const DeviceArray* array : arrays) names.push_back(array->name);
  return names;
}

// "`x`, `y` and `z`"; of many, the first.
std::string NamesText(absl::Span<const std::string> names) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t k = 0; k < std::min(names.size(), kMost); ++k) {
    const bool last = k + 1 == names.size();
    absl::StrAppend(&text,
                    k == 0 ? ""
                    : last ? " and "
                           : ", ",
                    "`", names[k], "`");
  }
  if (names.size() <= kMost) return text;
  return absl::StrCat(text, " and ", names.size() - kMost, " more");
}

// "w" of "w_3", which a graph calls the third of its kind; else the name.
absl::string_view KindOf(absl::string_view name) {
  absl::string_view kind = name;
  while (!kind.empty() && absl::ascii_isdigit(kind.back())) {
    kind.remove_suffix(1);
  }
  const absl::string_view number = name.substr(kind.size());
  const bool counts = !number.empty() && number != "1";
  return counts && absl::ConsumeSuffix(&kind, "_") ? kind : name;
}

// What may be the cause, among `all` arrays of the context; may be empty.
std::string WhyUnwritten(const std::string& name, Arrays all) {
  const absl::string_view keep = KeepHint(name);
  if (!keep.empty()) return std::string(keep);
  std::vector<std::string> unused;
  const absl::string_view kind = KindOf(name);
  for (const DeviceArray* array : all) {
    if (array->written && !array->used) unused.push_back(array->name);
    if (kind == name || !array->written || KindOf(array->name) != kind)
      continue;
    return absl::StrCat("; it was named so because there is a `", array->name,
                        "`: a text or a block makes its parameters each time, ",
                        "so make it once, or see train::WithSharedParams");
  }
  const std::vector<std::string> near = NearNames(name, unused);
  if (near.empty()) return "";
  return absl::StrCat("; `", near[0], "` was written, which nothing uses");
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
                                                   .written = false,
                                                   .used = false});
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

absl::Status UnusedError(absl::string_view array, const LinkedRoutine& user) {
  const std::vector<std::string> reads = NamesOf(user.reads);
  return absl::FailedPreconditionError(absl::StrCat(
      "`", array, "` was written, but no routine of the context uses it; `",
      user.name, "` reads ", NamesText(reads), NearNamesHint(array, reads),
      "; write the array that is meant and call Forget(\"", array,
      "\"), or if it is for a later routine, Write(\"", array,
      "\", values, Context::Unused::kIsLeft)"));
}

absl::Status LostError(const LinkedRoutine& writer) {
  for (const DeviceArray* array : writer.writes) {
    if (!array->unread || absl::c_linear_search(writer.reads, array)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("routine `", writer.name, "` computes `", array->name,
                     "`, whose values ",
                     "the host wrote and nothing has read; write them after "
                     "the routine ran, "
                     "or call Forget(\"",
                     array->name, "\") before it is linked"));
  }
  return absl::OkStatus();
}

absl::Status UnwrittenError(const LinkedRoutine& reader,
                            absl::Span<const DeviceArray* const> all) {
  std::vector<std::string> missing;
  for (const DeviceArray* array : reader.reads) {
    if (!array->written) missing.push_back(array->name);
  }
  const bool one = missing.size() == 1;
  std::string hint;
  for (const std::string& name : missing) {
    if (hint.empty()) hint = WhyUnwritten(name, all);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "routine `", reader.name, "` reads ", NamesText(missing), ", which ",
      one ? "was" : "were", " never written", hint, "; call Write(\"",
      missing[0], "\", values) on its context, with *ZerosLike(\"", missing[0],
      "\") for zeros, or run a routine that computes ", one ? "it" : "them"));
}

absl::string_view KeepHint(absl::string_view array) {
  if (!absl::EndsWith(array, kGradientSuffix)) return "";
  return "; a gradient is kept if its code is asked to: GradUpdate with "
         ".keep_gradients = true, or KeepGradients(params, code)";
}

}  // namespace ocannl
