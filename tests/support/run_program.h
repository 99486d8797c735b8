// SPDX-License-Identifier: Apache-2.0
//
// Runs a LoopProgram and compares what runs leave behind.
#ifndef TESTS_SUPPORT_RUN_PROGRAM_H_
#define TESTS_SUPPORT_RUN_PROGRAM_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/runtime/backend.h"

namespace ocannl {

using Arrays = std::map<std::string, NdArray>;
using RunResult = Arrays;

// Something for every buffer that the program reads: small numbers of both
// signs with a fraction, and now and then a zero, that depend on the place.
Arrays FillInputs(const LoopProgram& program);

// What the `out` and `inout` buffers hold after one run, with every static
// index at the middle of its range (3 without one). Without a backend, on the
// interpreter.
absl::StatusOr<RunResult> RunProgram(const LoopProgram& program,
                                     const Arrays& inputs);
absl::StatusOr<RunResult> RunProgram(const LoopProgram& program,
                                     const Arrays& inputs,
                                     const Backend& backend);

// The first array of `a` whose bits are others in `b`, in whatever shape; empty
// if there is none.
std::string Difference(const RunResult& a, const RunResult& b);

}  // namespace ocannl

#endif  // TESTS_SUPPORT_RUN_PROGRAM_H_
