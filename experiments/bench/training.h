// SPDX-License-Identifier: Apache-2.0
//
// Training: the training steps that are measured, with what their buffers hold
// before the first step.
//
//   OCANNL_ASSIGN_OR_RETURN(Training training, MlpTraining(mlp));
//   OCANNL_ASSIGN_OR_RETURN(
//       auto bound, BoundProgram::Make(training.step, training.first_values));
#ifndef EXPERIMENTS_BENCH_TRAINING_H_
#define EXPERIMENTS_BENCH_TRAINING_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/bench/bound_program.h"
#include "experiments/bench/programs.h"
#include "experiments/moons_model.h"
#include "experiments/nets/supervised.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/train/fit/fit.h"

namespace ocannl {

struct Training {
  LoopProgram step;  // optimised
  NamedArrays first_values;
  std::string loss;  // the buffer
};

// The half-moons network, and its model for those who run its code.
struct Moons {
  std::unique_ptr<train::FitCode> model;
  Training training;
};
absl::StatusOr<Moons> PrepareMoons();

// With first values that keep the size of the numbers from layer to layer.
absl::StatusOr<Training> MlpTraining(const Mlp& mlp);

// A step of one of the networks of //experiments:lenet, :cifar_conv and
// :gpt2_mini, or what it makes of its inputs; without first values where it is
// not to run.
inline constexpr double kNetRate = 1e-3;  // of the first step
struct NetTraining {
  Training step, forward;
};
absl::StatusOr<NetTraining> PrepareNet(const Lessons& lessons,
                                       const MakeNet& net, int64_t batch_size,
                                       bool with_values);

struct NamedMlp {
  std::string name;  // of the workload
  Mlp mlp;
};
// mlp/small, mlp/mid, mlp/wide; width/8 ... width/512.
std::vector<NamedMlp> TrainingMlps();

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_TRAINING_H_
