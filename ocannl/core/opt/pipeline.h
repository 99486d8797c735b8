// SPDX-License-Identifier: Apache-2.0
//
// Optimize: LoopProgram -> LoopProgram with fewer loops, buffers and operations
// and the same bits. The order of the passes stands here and nowhere else.
#ifndef OCANNL_CORE_OPT_PIPELINE_H_
#define OCANNL_CORE_OPT_PIPELINE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/ir.h"

namespace ocannl {

// A pass turns a valid program into a valid program that stores the same bits.
struct Pass {
  absl::string_view name;  // also of its goldens
  LoopProgram (*run)(LoopProgram);
  bool exact;  // false: the same real numbers only; runs on request
};

// Every pass, in the order in which they run; some run more than once.
absl::Span<const Pass> Passes();

struct PassOptions {
  bool real = false;              // also the passes that are not exact
  std::vector<std::string> skip;  // names of passes to leave out
  std::string stop_after;  // stop the first time it has run; empty: never
  int limit = -1;          // how many passes may run; -1: all (bisecting)
  // Whether the pass may run.
  bool Allows(const Pass& pass) const;
  // Whether every exact pass runs.
  bool all() const { return skip.empty() && stop_after.empty() && limit < 0; }
  // Called with each pass that ran and the program after it, verified.
  std::function<void(const Pass&, const LoopProgram&)> observer;
};

// Runs the passes and verifies the program before the first and after the last,
// or after each if there is an observer to see which breaks it. Errors: the
// program is not valid (analysis/promises.h), an option names no pass, or a
// pass breaks the program, which is a bug of ours.
absl::StatusOr<LoopProgram> Optimize(LoopProgram program,
                                     const PassOptions& options);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPT_PIPELINE_H_
