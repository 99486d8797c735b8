// SPDX-License-Identifier: Apache-2.0
//
// CompileNests: an executable of a program that a tier cannot compile as a
// whole: the nests that it can compile are its code, and the interpreter runs
// the others.
#ifndef OCANNL_CORE_TIERING_COMPILE_NESTS_H_
#define OCANNL_CORE_TIERING_COMPILE_NESTS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/runtime/backend.h"

namespace ocannl {

using NestCompiler =
    absl::FunctionRef<absl::StatusOr<std::unique_ptr<Executable>>(
        const LoopProgram& part)>;

// `compile` gets parts of the program's body, by halves down to single nests,
// in which `temp` and `out` buffers are `inout`. Buffers are in memory of the
// host; temps have their own in each run. Each nest that is interpreted adds a
// line to `interpreted`: "nest of y is interpreted: ...". Errors: that of the
// interpreter, and all but internal ones of `compile`.
absl::StatusOr<std::unique_ptr<Executable>> CompileNests(
    const LoopProgram& program, NestCompiler compile,
    const Backend& interpreter, std::vector<std::string>& interpreted);

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_COMPILE_NESTS_H_
