// SPDX-License-Identifier: Apache-2.0
//
// Tune: searches scripts (core/schedule/rewrite/script.h) that make the most
// expensive nests of a program faster than the planner does, and reports them.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       Tuned tuned, Tune(program, options, race, std::cout));
//   tuned.script    what `run FILE.ll --rewrite=` takes
#ifndef OCANNL_TUNE_TUNE_H_
#define OCANNL_TUNE_TUNE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/target.h"
#include "ocannl/tune/race.h"

namespace ocannl::tune {

struct TuneOptions {
  Target target;  // the planner's
  double seconds = 60;
  uint64_t seed = 1;
  size_t nests = 10;              // the most expensive ones are tuned
  bool from_planner = true;       // false: no script starts from the planner's
  std::string head = "";          // written before the first nest
  std::function<double()> clock;  // seconds since any moment
  std::function<bool()> stops = [] { return false; };
};

struct Tuned {
  std::string script;
  size_t faster_nests = 0;  // by at least kLeastGain
  double ratio = 0;         // the whole program's time / the planner's
};

// As a part of the planner's time. Smaller gains are noise.
inline constexpr double kLeastGain = 0.05;

// Tunes the nests of `program`, which is optimised and whose iterators are
// counted. Writes a report to `out`: for each nest the script found, beside the
// planner's, and the counts of the search. Each nest gets a part of the seconds
// in proportion to its time. Errors: no nest can be tuned; the bits of a result
// differ.
absl::StatusOr<Tuned> Tune(const LoopProgram& program,
                           const TuneOptions& options, Race& race,
                           std::ostream& out);

}  // namespace ocannl::tune

#endif  // OCANNL_TUNE_TUNE_H_
