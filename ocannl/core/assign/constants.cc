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
  // What makes the values of each array differ from run to run, if anything: an
  // array, or the complement of a static index.
  std::vector<std::optional<int32_t>> causes(code.arrays.size());
  for (size_t k = 0; k < code.arrays.size(); ++k) {
    if (MayChange(code.arrays[k])) causes[k] = static_cast<int32_t>(k);
  }
  auto text = [&](int32_t cause) {
    return cause < 0 ? absl::StrCat("!@", code.statics[~cause].name)
                     : code.arrays[cause].name;
  };
  for (const Assignment& assignment : code.list) {
    const Assign* assign = std::get_if<Assign>(&assignment);
    if (assign == nullptr) continue;
    std::optional<int32_t> cause;  // the first one
    auto see_index = [&](const Affine& index) {
      for (const Affine::Term& term : index.terms()) {
        if (cause || term.symbol.kind != Symbol::kStatic) continue;
        cause = ~term.symbol.number;
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
    return absl::FailedPreconditionError(absl::StrCat(
        "`", lhs.name, "` is to be effectively_constant (", lhs.memory->why,
        "), but it is computed from `", text(*cause),
        "`, which may change; ask for virtual instead"));
  }
  return absl::OkStatus();
}

}  // namespace ocannl
