// SPDX-License-Identifier: Apache-2.0
//
// Race: compares the times of programs with the same results by successive
// halving (Jamieson and Talwalkar 2016, as in Hyperband, Li et al. 2018). All
// run in turn. The slower half drops out, and the others run twice as often in
// the next round. The first program always stays: times are ratios to its own.
//
//   OnMachine race({.isa = Isa::kAvx512, .threads = 1}, program, /*seed=*/1);
//   race.Run({&planned, &other}, {.rounds = 3})[1].ratio   0.9: 10 % faster
#ifndef OCANNL_TUNE_RACE_H_
#define OCANNL_TUNE_RACE_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl::tune {

struct Outcome {
  bool is_done = false;    // it ran, with the first program's bits
  double seconds = 0;      // the median time of a run
  double ratio = 0;        // the median of its time / the first program's time
  std::string fault = "";  // why it is not done; empty: it was not tried
};

struct Rules {
  int rounds = 1;  // of samples; half of the programs drop out after each
  double round_seconds = 0.25;  // the most of a round with several samples
  // A program drops out if its first runs take more than this times the time
  // of the first program.
  double cut = std::numeric_limits<double>::infinity();
};

class Race {
 public:
  virtual ~Race() = default;

  // Races the programs, and returns an outcome for each.
  virtual std::vector<Outcome> Run(
      absl::Span<const LoopProgram* const> programs, const Rules& rules) = 0;

  // The first difference between the results of `on_interpreter`, which runs on
  // the interpreter, and of `program`. Empty: they have the same bits. An error
  // of a run counts as a difference.
  virtual std::string Proof(const LoopProgram& on_interpreter,
                            const LoopProgram& program) = 0;
};

struct RaceOptions {
  jit::Isa isa = jit::Isa::kAvx2;
  int threads = 1;
  int64_t most_scratch = int64_t{1} << 28;  // bytes of private arrays
  int most_seconds = 20;                    // of processor time in a race
};

// Runs programs on this machine, in child processes (fuzz/child.h). A program
// that crashes or hangs does not affect the others. This process must have no
// other threads. With one thread, times are processor time, so that other
// processes matter little. With several threads, times are wall-clock time.
class OnMachine : public Race {
 public:
  // Programs that race have the arrays and static indices of `whole`. All get
  // the same random numbers.
  OnMachine(const RaceOptions& options, const LoopProgram& whole,
            uint64_t seed);

  std::vector<Outcome> Run(absl::Span<const LoopProgram* const> programs,
                           const Rules& rules) override;

  std::string Proof(const LoopProgram& on_interpreter,
                    const LoopProgram& program) override;

 private:
  RaceOptions options_;
  std::map<std::string, NdArray> arrays_;
  std::vector<int64_t> statics_;
};

}  // namespace ocannl::tune

#endif  // OCANNL_TUNE_RACE_H_
