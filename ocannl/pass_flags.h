// SPDX-License-Identifier: Apache-2.0
//
// The flags that choose optimisation passes, for every command that has them.
#ifndef OCANNL_PASS_FLAGS_H_
#define OCANNL_PASS_FLAGS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/opt/pipeline.h"

namespace ocannl {

// --passes, --skip, --stop_after, --limit and --real.
const std::vector<Flag>& PassFlags();

// Error: a value that is not one.
absl::StatusOr<PassOptions> PassOptionsOf(const CommandLine& line);

// How many passes of machine code, its schedule's and its VCode's, may run when
// those of the options have: --limit counts on through them. -1: all.
int CodePassesOf(const PassOptions& options);

}  // namespace ocannl

#endif  // OCANNL_PASS_FLAGS_H_
