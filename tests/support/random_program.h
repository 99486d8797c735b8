// SPDX-License-Identifier: Apache-2.0
//
// Random programs: nests of loops over assignments to small buffers, in bounds.
// Tiny, so that a test can list each access of each iteration, and not always
// ones that Verify accepts; those to run are ocannl/fuzz/programs/generate.h's.
#ifndef TESTS_SUPPORT_RANDOM_PROGRAM_H_
#define TESTS_SUPPORT_RANDOM_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "ocannl/core/loop/loop.h"

namespace ocannl {

// Of a hundred statements, loops or indices, how many are what `_percent` says.
struct RandomProgramOptions {
  std::vector<Role> roles;   // a buffer of one or two axes each
  int64_t static_range = 2;  // of the one static index
  int64_t most_nests = 1;
  std::vector<int64_t> extents = {1, 2, 3, 4};
  int64_t loop_percent = 50;     // of the statements of a loop
  int64_t perfect_percent = 0;   // of loops around others: with no more in them
  int64_t par_percent = 0;       // of loops
  int64_t zero_percent = 0;      // of assignments: zero_out
  int64_t fill_percent = 0;      // of indices: fill an axis without gaps
  int64_t most_reads = 2;        // of an assignment
  bool looks_up = false;         // some cells by rows that `ids` holds
  bool private_buffers = false;  // one for each nest
};

LoopProgram RandomProgram(const RandomProgramOptions& options, uint64_t seed);

}  // namespace ocannl

#endif  // TESTS_SUPPORT_RANDOM_PROGRAM_H_
