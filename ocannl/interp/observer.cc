// SPDX-License-Identifier: Apache-2.0
#include "ocannl/interp/observer.h"

#include <utility>
#include <variant>

#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::interp {

std::string TextOf(const RunState& run, LeafValue leaf) {
  if (std::holds_alternative<Access>(leaf) ||
      std::holds_alternative<Lookup>(leaf)) {
    leaf = SubstituteIndices(std::move(leaf), [&](Symbol symbol) {
      return Affine(run.ValueOf(symbol));
    });
  }
  return PrintLeaf(run.program(), leaf);
}

LeafValue TargetOf(const LoopProgram& program, const Stmt& stmt) {
  if (const auto* set = std::get_if<Set>(&stmt)) return set->target;
  if (const auto* scatter = std::get_if<Scatter>(&stmt)) {
    return program.TargetOf(*scatter);
  }
  if (const auto* set = std::get_if<SetLocal>(&stmt)) {
    return GetLocal{set->local};
  }
  return GetLocal{std::get<DeclareLocal>(stmt).local};
}

absl::Status RunObserver::Starts(const RunState&) { return absl::OkStatus(); }

absl::Status RunObserver::Meets(const RunState&, const Stmt&) {
  return absl::OkStatus();
}

absl::Status RunObserver::Ends() { return absl::OkStatus(); }

}  // namespace ocannl::interp
