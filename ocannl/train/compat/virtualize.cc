// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/compat/virtualize.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/index/projections.h"
#include "ocannl/core/loop/lower.h"
#include "ocannl/core/opt/pipeline.h"

namespace ocannl::train {
namespace {

constexpr char kWhy[] = "SetVirtualization";

// What the code does with an array.
struct Uses {
  bool is_input = false;  // is read before anything sets it
  int sets = 0;           // assignments to it
  bool reads = false;     // one of them reads an array
  bool operates = false;  // and does more than to copy it
  int64_t visits = 0;     // most reads of one cell in a run
};

// How many points of the loops read the same cell at most. Where all iterators
// but one of an index are fixed, another value of that one is another cell.
int64_t MostVisits(const LoopExtents& extents, const Indices& indices) {
  int64_t visits = NumElements(extents);
  absl::flat_hash_set<int32_t> used;
  for (const Affine& index : indices) {
    int64_t longest = 1;
    int32_t by = -1;
    for (const Affine::Term& term : index.terms()) {
      const int32_t number = term.symbol.number;
      if (term.symbol.kind != Symbol::kIterator || used.contains(number) ||
          extents[IteratorId{number}] <= longest) {
        continue;
      }
      longest = extents[IteratorId{number}];
      by = number;
    }
    visits /= longest;
    used.insert(by);
  }
  return visits;
}

void CountRead(const Assign& assign, const ReadArray& read, bool looked_up,
               std::vector<Uses>& all) {
  Uses& uses = all[read.array];
  if (uses.sets == 0) uses.is_input = true;
  uses.visits += looked_up ? NumElements(assign.extents)
                           : MostVisits(assign.extents, read.indices);
}

std::vector<Uses> UsesOf(const Assignments& code) {
  std::vector<Uses> all(code.arrays.size());
  for (const Assignment& each : code.list) {
    const auto* assign = std::get_if<Assign>(&each);
    if (assign == nullptr) continue;
    bool reads = false;
    for (const Source& source : assign->sources) {
      const auto* lookup = std::get_if<ReadLookup>(&source);
      if (lookup != nullptr) CountRead(*assign, *lookup->table, true, all);
      if (lookup != nullptr) CountRead(*assign, *lookup->ids, false, all);
      const auto* read = std::get_if<ReadArray>(&source);
      if (read != nullptr) CountRead(*assign, *read, false, all);
      reads = reads || lookup != nullptr || read != nullptr;
    }
    Uses& uses = all[assign->lhs];
    if (uses.sets++ == 0 && assign->accum && !assign->reset) {
      uses.is_input = true;
    }
    const bool copies = std::holds_alternative<Leaf>(code.exprs[assign->rhs]);
    uses.reads = uses.reads || reads;
    uses.operates = uses.operates || (reads && !copies) || assign->accum;
  }
  return all;
}

bool Inlines(const VirtualizeSettings& settings, const Array& array,
             const Uses& uses) {
  const bool scalar_constant =
      NumElements(array.dims) == 1 && uses.sets == 1 && !uses.reads;
  if (scalar_constant) return settings.inline_scalar_constexprs;
  if (!uses.operates && settings.inline_simple_computations) return true;
  return (!uses.operates || settings.inline_complex_computations) &&
         uses.visits <= settings.max_visits;
}

}  // namespace

absl::Status SetVirtualization(const VirtualizeSettings& settings,
                               Assignments& code) {
  if (settings.max_visits < 0) {
    return UserError("max_visits is ", settings.max_visits,
                     "; it must be 0 or more");
  }
  const std::vector<Uses> uses = UsesOf(code);
  bool some = false;
  for (size_t k = 0; k < code.arrays.size(); ++k) {
    Array& array = code.arrays[k];
    if (array.memory || array.data != nullptr || array.is_merge) continue;
    if (!settings.enable_device_only) {
      array.memory = {MemoryMode::kMaterialized, kWhy};
    } else if (uses[k].sets > 0 && !uses[k].is_input) {
      const bool inlines = Inlines(settings, array, uses[k]);
      array.memory = {
          inlines ? MemoryMode::kVirtual : MemoryMode::kNeverVirtual, kWhy};
      some = some || inlines;
    }
  }
  if (!some) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(LoopProgram lowered, Lower(code));
  OCANNL_ASSIGN_OR_RETURN(const LoopProgram program,
                          Optimize(std::move(lowered), {}));
  for (const loop_ir::Buffer& buffer : program.buffers) {
    if (buffer.role != loop_ir::Role::kVirtual) continue;  // it is gone
    const auto array = absl::c_find_if(
        code.arrays, [&](const Array& a) { return a.name == buffer.name; });
    // What somebody else asked for stays, and is an error of ToRoutine.
    if (array->memory->why == kWhy) array->memory = std::nullopt;
  }
  return absl::OkStatus();
}

}  // namespace ocannl::train
