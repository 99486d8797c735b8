// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/run/debug.h"

#include <iostream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/trace_events.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/explain.h"

namespace ocannl::train {
namespace {

// What was asked to be virtual stays so.
void KeepAll(Assignments& code) {
  for (const Array& array : code.arrays) {
    if (array.is_merge || array.data != nullptr) continue;
    Keep(code, array.name).IgnoreError();
  }
}

absl::Status Debug(const DebugSettings& settings, Assignments& code) {
  const TraceSpan span("stages", code.name);
  if (settings.hosted) KeepAll(code);
  if (settings.log_level > 0) {
    std::cerr << absl::StrCat("compiles ", code.name, ": ", code.list.size(),
                              " assignments, ", code.arrays.size(),
                              " arrays\n");
  }
  if (settings.log_level > 1) std::cerr << PrintCd(code);
  if (settings.directory.empty()) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(const Explanation explanation, ExplainCode(code, {}));
  return WriteStages(explanation.stages, settings.directory);
}

}  // namespace

void EnableAllDebugs(const DebugSettings& settings) {
  SetCodeHook([settings](Assignments& code) { return Debug(settings, code); });
}

void DisableAllDebugs() { SetCodeHook(nullptr); }

}  // namespace ocannl::train
