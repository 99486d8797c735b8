// SPDX-License-Identifier: Apache-2.0
//
// The cost model that says whether a program and its arrays move to a GPU, and
// back. It is a pure function of the program and of constants of the machine.
//
// A run takes on each side what a roofline says (Williams, Waterman and
// Patterson 2009), nest by nest; an operation on integers counts as a flop.
// Moving follows the rule of a task system of
// two states (Borodin, Linial and Saks 1992): a program moves once its runs
// have taken so much longer here than there that moving costs no more. So the
// time is at most a constant factor above the least possible.
#ifndef OCANNL_CORE_TIERING_MIGRATION_COST_H_
#define OCANNL_CORE_TIERING_MIGRATION_COST_H_

#include <cstdint>
#include <string>

#include "ocannl/core/loop/loop.h"

namespace ocannl {

struct TierSpeed {
  double flops_per_second;
  double bytes_per_second;
  double nest_seconds;  // that a nest takes at least
};

// The defaults are round figures of a server and its GPU. They serve until the
// machine's own are known, which MeasureMigrationCosts measures.
struct MigrationCosts {
  TierSpeed host = {
      .flops_per_second = 2e11, .bytes_per_second = 2e10, .nest_seconds = 2e-7};
  TierSpeed gpu = {
      .flops_per_second = 2e13, .bytes_per_second = 2e12, .nest_seconds = 3e-6};
  double copy_seconds = 1e-5;  // of a copy of no bytes, either way
  double copied_bytes_per_second = 1e10;
  double compile_seconds = 0.1;  // for the GPU, of a program without nests
  double compile_nest_seconds = 0.02;
  double open_seconds = 0.5;  // of the first use of the GPU by a process
};

double CopySeconds(double bytes, double copies, const MigrationCosts& costs);

// What is known of a program before it runs, in seconds.
struct Forecast {
  double host_seconds = 0;     // of a run
  double gpu_seconds = 0;      // likewise
  double compile_seconds = 0;  // for the GPU
  double move_seconds = 0;     // of all its arrays, one way
};
Forecast ForecastOf(const LoopProgram& program, const MigrationCosts& costs);

// A program's stay on one side.
struct Stay {
  bool on_gpu = false;
  int64_t runs = 0;           // of this stay
  double copied_seconds = 0;  // that these runs copied arrays to this side
  // Likewise of a run of the last stay on the other side; 0: there was none.
  double copied_seconds_there = 0;
  double preparation_seconds = 0;  // of the GPU and its code: what is left
};

struct Decision {
  bool moves;
  double here_seconds;   // the runs of this stay, with their copies
  double there_seconds;  // the same runs on the other side
  double move_seconds;   // preparation, and the copies: there and back again
                         // if the other side is the GPU
};
Decision Decide(const Forecast& forecast, const Stay& stay);

// "12 runs take 36 ms on the host, and 1.2 ms on the GPU; moving takes 30 ms".
std::string Reason(const Decision& decision, const Stay& stay);

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_MIGRATION_COST_H_
