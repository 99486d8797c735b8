// SPDX-License-Identifier: Apache-2.0
//
// The whole way from code to something that runs: Assignments -> LoopProgram ->
// Executable -> Routine.
//
//   OCANNL_ASSIGN_OR_RETURN(Routine step, ToRoutine(context, code, {}));
//   OCANNL_RETURN_IF_ERROR(step.Run());
#ifndef OCANNL_CORE_COMPILE_H_
#define OCANNL_CORE_COMPILE_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/loop/ir.h"
#include "ocannl/core/opt/pipeline.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"

namespace ocannl {

// Whether `program`, what all passes made of `code`, has no array for what is
// to be virtual. Error: it has, with who asked for it and why it cannot be.
absl::Status CheckVirtual(const Assignments& code, const LoopProgram& program);

// Lower(code), the origins of its loops as comments where GDB reads the text
// that it executes (OCANNL_JIT_SYMBOLS; WithOrigins of cd/print.h).
absl::StatusOr<LoopProgram> LowerToRun(const Assignments& code);

// Is called with the code of each routine before it is compiled, and may ask
// for other memory modes: for debugging (train/run/debug.h). Its error is that
// of the compilation. Null: nothing. To be set while nothing is compiled.
using CodeHook = std::function<absl::Status(Assignments& code)>;
void SetCodeHook(CodeHook hook);

// Lowers and optimises. Errors: those of Lower and Optimize; what is to be
// virtual cannot be, if no pass is left out.
absl::StatusOr<LoopProgram> CompileProgram(const Assignments& code,
                                           const PassOptions& options);

// Compiles for the context's device and links to the context, after writing
// the host data that `code` reads. Errors: also those of Context.
absl::StatusOr<Routine> ToRoutine(const Context& context,
                                  const Assignments& code,
                                  const PassOptions& options);
// The same, and frees `code` when it is lowered.
absl::StatusOr<Routine> ToRoutine(const Context& context, Assignments&& code,
                                  const PassOptions& options);

// The same for each of `contexts`, compiled once for those of one backend.
absl::StatusOr<std::vector<Routine>> ToRoutines(
    absl::Span<const Context> contexts, const Assignments& code,
    const PassOptions& options);

}  // namespace ocannl

#endif  // OCANNL_CORE_COMPILE_H_
