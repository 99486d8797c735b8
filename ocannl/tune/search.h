// SPDX-License-Identifier: Apache-2.0
//
// Search: an evolutionary search for the fastest script of a nest (Zheng et
// al., Ansor, OSDI 2020). The first population has the planner's script and
// random sketches. Each generation mutates some scripts, races those that are
// legal (race.h), and keeps the fastest.
//
//   Random random(seed);
//   Found found = Search(nest, target, {.goes_on = clock}, race, random);
#ifndef OCANNL_TUNE_SEARCH_H_
#define OCANNL_TUNE_SEARCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/target.h"
#include "ocannl/fuzz/programs/random.h"
#include "ocannl/tune/nests.h"
#include "ocannl/tune/race.h"

namespace ocannl::tune {

struct SearchOptions {
  // Whether there is time for another generation; called before each.
  std::function<bool()> goes_on;
  bool from_planner = true;  // the planner's script is in the first population
  size_t population = 12;
  size_t generation = 8;  // scripts that are raced together
};

// How many scripts had which outcome.
struct Counts {
  int64_t made = 0;     // all of them
  int64_t legal = 0;    // the driver refused no line
  int64_t mended = 0;   // legal without the lines that it refused
  int64_t illegal = 0;  // Verify, or the search, refused the other lines
  int64_t known = 0;    // their program was raced before
  int64_t slow = 0;     // not run: the program has too many statements
  int64_t timed = 0;
  int64_t cut = 0;  // dropped after the first runs
  int64_t failed = 0;
  std::vector<std::string> faults;  // of those that failed, with the script

  void Add(const Counts& other);
};

struct Found {
  Lines lines;          // the script; empty: nothing was found
  LoopProgram program;  // what it makes of the nest
  double ratio = 0;     // its time / the planner's time, in the last race
  Counts counts = {};
};

// The fastest script of `nest`. Scripts that fail are counted and are not
// errors. The same seed and times give the same scripts.
Found Search(const Nest& nest, const Target& target,
             const SearchOptions& options, Race& race, fuzz::Random& random);

// The nest after the planner's script.
LoopProgram PlannedProgram(const Nest& nest);

}  // namespace ocannl::tune

#endif  // OCANNL_TUNE_SEARCH_H_
