// SPDX-License-Identifier: Apache-2.0
//
// Supervised: a network that learns to tell classes apart, and the code that
// trains and tests it with cross-entropy and stochastic gradient descent.
//
//   OCANNL_ASSIGN_OR_RETURN(auto lenet, MakeSupervised(digits, net, options));
//   OCANNL_ASSIGN_OR_RETURN(SupervisedRoutines run, Start(*lenet, context));
//   StartEpoch; run.step for each batch_n and step; TestScore(run.test)
#ifndef EXPERIMENTS_NETS_SUPERVISED_H_
#define EXPERIMENTS_NETS_SUPERVISED_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/nets/rate_schedule.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/blocks/state.h"
#include "ocannl/train/data/batch_order.h"
#include "ocannl/train/model.h"

namespace ocannl {

// Examples: inputs of dims [count, ...] and the numbers of their classes: i32
// of dims [count], or [count, length] for the places of a sequence.
struct Examples {
  NdArray inputs;
  NdArray classes;
};

struct Lessons {
  Examples train, test;
  int64_t classes;
};

struct SupervisedOptions {
  int64_t epochs = 1;
  int64_t batch_size = 50;
  double rate = 0.05;
  RateSchedule schedule = {};
  double momentum = 0.9;
  double weight_decay = 0;
  bool adamw = false;    // in the place of SGD; then without the momentum
  bool shuffle = false;  // the examples of each epoch
  uint32_t seed = 1;     // of the parameters' first values, and the order
  // What the network computes and stores, but its parameters, which are f32.
  DType dtype = DType::kF32;
};

// The logits of the inputs: ...|classes.
using Net = std::function<Tensor(Tensor inputs, train::Training* training)>;
using MakeNet = std::function<Net(const train::ParamScope& scope)>;

struct Supervised {
  train::Model model;
  Tensor loss{};
  std::vector<Tensor> parameters;
  Assignments init;  // gives parameters and states their first values
  // One step; its static indices are batch_n and step. Keeps the values of
  // loss and learning_rate.
  Assignments step;
  // What the network makes of the batch test_n of the tests: keeps the values
  // of test_loss and of test_hits, the share that it gets right.
  Assignments test;
  Net net;                                 // the one that is trained
  std::optional<train::BatchOrder> order;  // of a training that shuffles
};

// To be called before the steps of an epoch, from 0.
absl::Status StartEpoch(const Supervised& supervised, const Context& context,
                        int64_t epoch);

// Its routines, after `init` has run.
struct SupervisedRoutines {
  Routine step, test;
};
absl::StatusOr<SupervisedRoutines> Start(const Supervised& supervised,
                                         const Context& context);

// The routine `test` alone, likewise: for what is trained elsewhere.
absl::StatusOr<Routine> StartTest(const Supervised& supervised,
                                  const Context& context);

// Means over the batches of the tests.
struct Score {
  double loss = 0;
  double hits = 0;
};
absl::StatusOr<Score> TestScore(Routine& test);

// Over all whole batches of the lessons. Errors: fewer examples than a batch;
// what the network is not fit for.
absl::StatusOr<std::unique_ptr<Supervised>> MakeSupervised(
    const Lessons& lessons, const MakeNet& make_net,
    const SupervisedOptions& options);

}  // namespace ocannl

#endif  // EXPERIMENTS_NETS_SUPERVISED_H_
