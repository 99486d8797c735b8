// SPDX-License-Identifier: Apache-2.0
//
// RunMain: what the main function of each program does around its work.
//
//   int main() { return RunMain([] { return Work(); }); }
#ifndef OCANNL_CORE_BASE_SYSTEM_RUN_MAIN_H_
#define OCANNL_CORE_BASE_SYSTEM_RUN_MAIN_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ocannl {

// The exit code that `run` returns. It is 1, with a message on stderr, if
// memory runs out, which ends the process, or if standard output could not be
// written completely. Writes to streams that the caller has closed are errors,
// and never go to our files. So is a write beyond `ulimit -f`.
int RunMain(absl::FunctionRef<int()> run);

// The same of work that fails with an error: exit code 1, and "name: error" on
// stderr.
int RunMain(absl::string_view name, absl::FunctionRef<absl::Status()> run);

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_SYSTEM_RUN_MAIN_H_
