// SPDX-License-Identifier: Apache-2.0
//
// The program around a supervised experiment: trains the network, prints a
// line for some epochs, and as the last line of stdout `RESULT {json}`.
//
//   bazel run //experiments:lenet -- --tier=interp --seed=1
#ifndef EXPERIMENTS_SUPERVISED_MAIN_H_
#define EXPERIMENTS_SUPERVISED_MAIN_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "experiments/nets/supervised.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/train/fit/fit.h"

namespace ocannl {

struct SupervisedExperiment {
  std::string name;
  std::string what;                // it does, for --help
  int64_t examples = 0;            // to train, before --examples; 0: no flag
  SupervisedOptions options = {};  // before the flags
  std::vector<Flag> flags = {};    // of its own, which decide what is trained
  std::vector<Flag> other_flags = {};  // which do not
  // Prints what the network has learned, after training, and returns what it
  // measured, for the result.
  std::function<absl::StatusOr<train::Measures>(train::Fitted&)> show = nullptr;
};

// What is taught to what.
struct Task {
  Lessons lessons;
  MakeNet net;
};

// Gets the flags, the number of examples to train, and the seed.
using MakeTask = absl::FunctionRef<absl::StatusOr<Task>(
    const CommandLine&, int64_t examples, uint32_t seed)>;

// The exit code.
int SupervisedMain(SupervisedExperiment experiment, MakeTask make, int argc,
                   char** argv);

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPERVISED_MAIN_H_
