// SPDX-License-Identifier: Apache-2.0
//
// Supervised: a network that learns to tell classes apart, and the code that
// trains and tests it with cross-entropy and stochastic gradient descent.
//
//   OCANNL_ASSIGN_OR_RETURN(auto lenet, MakeSupervised(digits, net, options));
//   run lenet->init, then lenet->step for each batch_n and step, then
//   lenet->test for each test_n
#ifndef EXPERIMENTS_NETS_SUPERVISED_H_
#define EXPERIMENTS_NETS_SUPERVISED_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/blocks/state.h"
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
  double rate = 0.05;  // falls to a tenth of it
  double momentum = 0.9;
  double weight_decay = 0;
  uint32_t seed = 1;  // of the parameters' first values
};

// The logits of the inputs: ...|classes.
using Net = std::function<Tensor(Tensor inputs, train::Training* training)>;
using MakeNet = std::function<Net(const train::ParamScope& scope)>;

struct Supervised {
  train::Model model;
  std::vector<Tensor> parameters;
  Assignments init;  // gives parameters and states their first values
  // One step; its static indices are batch_n and step. Keeps the values of
  // loss and learning_rate.
  Assignments step;
  // What the network makes of the batch test_n of the tests: keeps the values
  // of test_loss and of test_hits, the share that it gets right.
  Assignments test;
};

// Over all whole batches of the lessons. Errors: fewer examples than a batch;
// what the network is not fit for.
absl::StatusOr<std::unique_ptr<Supervised>> MakeSupervised(
    const Lessons& lessons, const MakeNet& make_net,
    const SupervisedOptions& options);

}  // namespace ocannl

#endif  // EXPERIMENTS_NETS_SUPERVISED_H_
