// SPDX-License-Identifier: Apache-2.0
//
// Race: how long programs that compute the same take, by successive halving
// (Jamieson and Talwalkar 2016, as in Hyperband, Li et al. 2018). All run in
// turn, the slower half drops out, and the others run on, twice as often. The
// first program always stays: times are told in its own.
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
  double seconds = 0;      // a run, the median
  double ratio = 0;        // of its time to the first program's, the median
  std::string fault = "";  // why it is not done; empty: nobody tried
};

struct Rules {
  int rounds = 1;  // of samples; half of the programs drop out after each
  double round_seconds = 0.25;  // a round takes no longer, but one sample each
  // A program is out whose first runs take so many times the first program's.
  double cut = std::numeric_limits<double>::infinity();
};

class Race {
 public:
  virtual ~Race() = default;

  // An outcome for each program.
  virtual std::vector<Outcome> Run(
      absl::Span<const LoopProgram* const> programs, const Rules& rules) = 0;

  // How the results of the two programs differ, the first one on the
  // interpreter; empty: in no bit. An error is told as a difference.
  virtual std::string Proof(const LoopProgram& on_interpreter,
                            const LoopProgram& program) = 0;
};

struct RaceOptions {
  jit::Isa isa = jit::Isa::kAvx2;
  int threads = 1;
  int64_t most_scratch = int64_t{1} << 28;  // bytes of private arrays
  int most_seconds = 20;                    // of processor time in a race
};

// On this machine, in child processes (fuzz/child.h): a program that crashes or
// does not end harms none of the others. This process has no other threads.
// The time of one thread is that of its processor, so that other processes do
// not count; that of several is the time on the clock.
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
