// SPDX-License-Identifier: Apache-2.0
//
// What kPassFlags choose. The passes over loops, of a schedule and over VCode
// are one list, in this order.
#ifndef OCANNL_FLAGS_PASS_OPTIONS_H_
#define OCANNL_FLAGS_PASS_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/opt/pipeline.h"

namespace ocannl {

// What the flags say of passes over loops. Errors: a value that is not one; a
// name of no pass.
absl::StatusOr<PassOptions> PassOptionsOf(const CommandLine& line);

// The names of the passes of machine code, its schedule's and its VCode's, that
// do not run. Errors: those of PassOptionsOf.
absl::StatusOr<std::vector<std::string>> SkippedCodePasses(
    const CommandLine& line);

}  // namespace ocannl

#endif  // OCANNL_FLAGS_PASS_OPTIONS_H_
