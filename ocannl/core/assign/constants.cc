// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/constants.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/tensor/memory_mode.h"

namespace ocannl {
namespace {

// Whether the values of the array differ from run to run, if code does not
// compute them. What a user may write is on_device, a literal is materialized.
bool MayChange(const Array& array) {
  const bool is_literal = array.data != nullptr && array.memory &&
                          array.memory->mode == MemoryMode::kMaterialized;
  return IsStored(array) && !is_literal;
}

}  // namespace

absl::Status CheckConstants(const Assignments& code) {
  // What of each array, if anything, makes its values differ from run to run.
  std::vector<std::optional<std::string>> causes;
  for (const Array& array : code.arrays) {
    causes.push_back(MayChange(array) ? std::optional(array.name)
                                      : std::nullopt);
  }
  for (const Assignment& assignment : code.list) {
    const Assign* assign = std::get_if<Assign>(&assignment);
    if (assign == nullptr) continue;
    std::optional<std::string> cause;  // the first one
    auto see_index = [&](const Affine& index) {
      for (const Affine::Term& term : index.terms()) {
        if (cause || term.symbol.kind != Symbol::kStatic) continue;
        cause = absl::StrCat("!@", code.statics[term.symbol.number].name);
      }
    };
    absl::c_for_each(assign->lhs_indices, see_index);
    for (const Source& source : assign->sources) {
      WalkArrays(source, [&](const ReadArray& read) {
        if (!cause) cause = causes[read.array];
        absl::c_for_each(read.indices, see_index);
      });
      const ReadIndex* read = std::get_if<ReadIndex>(&source);
      if (read != nullptr) see_index(read->index);
    }
    if (!cause) continue;
    const Array& lhs = code.arrays[assign->lhs];
    if (!causes[assign->lhs]) causes[assign->lhs] = cause;
    if (!lhs.memory || lhs.memory->mode != MemoryMode::kEffectivelyConstant) {
      continue;
    }
    return absl::FailedPreconditionError(
        absl::StrCat("`", lhs.name, "` is to be effectively_constant (",
                     lhs.memory->why, "), but it is computed from `", *cause,
                     "`, which may change; ask for virtual instead"));
  }
  return absl::OkStatus();
}

}  // namespace ocannl
