// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/memory_mode.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ocannl {
namespace {

constexpr std::array<absl::string_view, 7> kNames = {
    "effectively_constant", "virtual",   "never_virtual", "local",
    "device_only",          "on_device", "materialized"};

// What each mode becomes when another is asked for; modes by their initials.
// '!' is a contradiction.
constexpr char kInitials[] = "evnldom";
constexpr absl::string_view kUpdates[] = {
    // request: evnldom
    /* effectively_constant */ "evm!!om",
    /* virtual */ "vv!!!!!",
    /* never_virtual */ "m!nldom",
    /* local */ "!!lll!!",
    /* device_only */ "!!dldoo",
    /* on_device */ "!!o!ooo",
    /* materialized */ "m!m!oom",
};

int NumberOf(MemoryMode mode) { return static_cast<int>(mode); }

std::string Describe(const MemoryRequest& request) {
  return absl::StrCat(Name(request.mode), " (", request.why, ")");
}

}  // namespace

absl::string_view Name(MemoryMode mode) { return kNames[NumberOf(mode)]; }

absl::StatusOr<MemoryMode> FindMemoryMode(absl::string_view name) {
  for (size_t k = 0; k < kNames.size(); ++k) {
    if (kNames[k] == name) return static_cast<MemoryMode>(k);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("`", name, "` is no memory mode; the modes are ",
                   absl::StrJoin(kNames, ", ")));
}

MemoryRequest AskedBy(absl::string_view function, SourceLocation where,
                      MemoryMode mode) {
  return {.mode = mode, .why = absl::StrCat(function, " at ", ToString(where))};
}

absl::StatusOr<MemoryRequest> Update(const AskedMemory& current,
                                     const MemoryRequest& request) {
  if (!current) return request;
  const char updated =
      kUpdates[NumberOf(current->mode)][NumberOf(request.mode)];
  if (updated == '!') {
    return absl::FailedPreconditionError(
        absl::StrCat("it is ", Describe(*current), " and cannot be ",
                     Describe(request), " as well; ask for one of the two"));
  }
  const auto mode =
      static_cast<MemoryMode>(absl::string_view(kInitials).find(updated));
  if (mode == current->mode) return *current;
  if (mode == request.mode) return request;
  return MemoryRequest{.mode = mode,
                       .why = absl::StrCat(current->why, " and ", request.why)};
}

absl::Status UpdateOf(absl::string_view name, const MemoryRequest& request,
                      AskedMemory& current) {
  absl::StatusOr<MemoryRequest> updated = Update(current, request);
  if (!updated.ok()) {
    return absl::Status(updated.status().code(),
                        absl::StrCat("the memory mode of `", name,
                                     "`: ", updated.status().message()));
  }
  current = *std::move(updated);
  return absl::OkStatus();
}

bool IsKept(const AskedMemory& memory) {
  return memory && (memory->mode == MemoryMode::kOnDevice ||
                    memory->mode == MemoryMode::kMaterialized);
}

}  // namespace ocannl
