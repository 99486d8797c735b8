// SPDX-License-Identifier: Apache-2.0
//
// Search: the fastest script of a nest that an evolutionary search finds
// (Zheng et al., Ansor, OSDI 2020). A population of scripts starts from the
// planner's and from random sketches. Each generation changes some of them,
// races what is legal (race.h), and keeps the fastest.
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
  // Asked before each generation; whether there is time for it.
  std::function<bool()> goes_on;
  bool from_planner = true;  // its script is one to start from
  size_t population = 12;
  size_t generation = 8;  // scripts that are raced together
};

// What became of the scripts that were made.
struct Counts {
  int64_t made = 0;     // all of them
  int64_t legal = 0;    // the driver refused no line
  int64_t mended = 0;   // without the lines that it refused
  int64_t illegal = 0;  // Verify, or the search, refused what was left
  int64_t known = 0;    // they made a program that was raced before
  int64_t slow = 0;     // too many statements, which nobody ran
  int64_t timed = 0;
  int64_t cut = 0;  // after the first runs
  int64_t failed = 0;
  std::vector<std::string> faults;  // of those that failed, with the script

  void Add(const Counts& other);
};

struct Found {
  Lines lines;          // the script; empty: nothing was found
  LoopProgram program;  // what it makes of the nest
  double ratio = 0;     // of its time to the planner's, as of the last race
  Counts counts = {};
};

// Error-free: a script that fails is counted. The same seed and times give the
// same scripts.
Found Search(const Nest& nest, const Target& target,
             const SearchOptions& options, Race& race, fuzz::Random& random);

// The nest after the planner's script.
LoopProgram PlannedProgram(const Nest& nest);

}  // namespace ocannl::tune

#endif  // OCANNL_TUNE_SEARCH_H_
