// SPDX-License-Identifier: Apache-2.0
//
// NestsOf: the nests of a program that are tuned one by one. The statements
// that the planner fuses are one nest, and a program of their own.
#ifndef OCANNL_TUNE_NESTS_H_
#define OCANNL_TUNE_NESTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/target.h"
#include "ocannl/tune/script_lines.h"

namespace ocannl::tune {

struct Nest {
  std::string name;  // in profiles of the planner's schedule: "nest-3"
  // Loops have the numbers of the whole program, arrays its names. An array
  // that other statements use, too, is `in`, `out` or `inout`.
  LoopProgram program;
  Lines canonical;  // brings loops into the planner's form (canonicalize.h)
  Lines planned;    // behind those: the planner's
};

// The nests that scripts can schedule, in their order, of a program whose
// iterators are counted. Statements with locals, and those that the planner
// does nothing to, are in none. `target` is the planner's.
std::vector<Nest> NestsOf(const LoopProgram& program, const Target& target);

// The script that does `lines` to the nests of the whole program. A `sink`
// that finds its loop in place already is left out. Errors: of a line.
absl::StatusOr<Lines> LinesForWhole(const LoopProgram& program,
                                    const Lines& lines);

}  // namespace ocannl::tune

#endif  // OCANNL_TUNE_NESTS_H_
