// SPDX-License-Identifier: Apache-2.0
//
// --rewrite: a schedule by hand, for every command that takes programs.
#ifndef OCANNL_CLI_REWRITE_FLAG_H_
#define OCANNL_CLI_REWRITE_FLAG_H_

#include "absl/status/statusor.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

const Flag& RewriteFlag();

// `program` as --rewrite, a script (core/schedule/rewrite/script.h) or a file
// that holds one, wants it. Errors: a file that cannot be read; those of the
// script.
absl::StatusOr<LoopProgram> Rewritten(const CommandLine& line,
                                      LoopProgram program);

}  // namespace ocannl

#endif  // OCANNL_CLI_REWRITE_FLAG_H_
