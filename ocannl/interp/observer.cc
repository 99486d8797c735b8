// SPDX-License-Identifier: Apache-2.0
#include "ocannl/interp/observer.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::interp {

std::string TextOf(const RunState& run, LeafValue leaf) {
  const LoopProgram& program = run.program();
  if (std::holds_alternative<Access>(leaf)) {
    leaf = SubstituteIndices(std::move(leaf), [&](Symbol symbol) {
      return Affine(run.ValueOf(symbol));
    });
  }
  return std::visit(
      Overload{
          [&](const Access& access) { return PrintAccess(program, access); },
          [&](const GetLocal& get) { return program.locals[get.local].name; },
          [&](const Affine& index) {
            return absl::StrCat("[", PrintIndex(program, index), "]");
          },
      },
      leaf);
}

absl::Status RunObserver::Starts(const RunState&) { return absl::OkStatus(); }

absl::Status RunObserver::Meets(const RunState&, const Stmt&) {
  return absl::OkStatus();
}

absl::Status RunObserver::Ends() { return absl::OkStatus(); }

}  // namespace ocannl::interp
