// SPDX-License-Identifier: Apache-2.0
//
// The flags that choose passes, for every command that has them: those over
// loops, of a schedule and over VCode are one list, in this order.
#ifndef OCANNL_PASS_FLAGS_H_
#define OCANNL_PASS_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/opt/pipeline.h"

namespace ocannl {

// --passes (of those over loops), --skip, --stop_after, --limit and --real.
const std::vector<Flag>& PassFlags();

// What the flags say of passes over loops. Errors: a value that is not one; a
// name of no pass.
absl::StatusOr<PassOptions> PassOptionsOf(const CommandLine& line);

// The names of the passes of machine code, its schedule's and its VCode's, that
// do not run. Errors: those of PassOptionsOf.
absl::StatusOr<std::vector<std::string>> SkippedCodePasses(
    const CommandLine& line);

}  // namespace ocannl

#endif  // OCANNL_PASS_FLAGS_H_
