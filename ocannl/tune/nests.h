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
  // Loops have the numbers that they have in the whole program, and arrays
  // have the same names. An array that other statements also use is `in`,
  // `out` or `inout`.
  LoopProgram program;
  Lines canonical;  // brings loops into the planner's form (canonicalize.h)
  Lines planned;    // the planner's script, after `canonical`
};

// The nests of `program` that scripts can schedule, in the order of the
// program, whose iterators are counted. Statements with locals are left out,
// and so are those that the planner does not change. `target` is the planner's.
std::vector<Nest> NestsOf(const LoopProgram& program, const Target& target);

// The script that applies `lines` of single nests to the whole program. A
// `sink` of a loop that is in place already is left out. Error: a line is
// refused.
absl::StatusOr<Lines> LinesForWhole(const LoopProgram& program,
                                    const Lines& lines);

}  // namespace ocannl::tune

#endif  // OCANNL_TUNE_NESTS_H_
