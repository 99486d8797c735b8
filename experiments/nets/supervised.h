// SPDX-License-Identifier: Apache-2.0
//
// Networks that learn to tell classes apart, by cross-entropy, as train::Fit
// trains them.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       auto fitted, train::Fit(backend, Classifier(net, 10, options.dtype),
//                               DataOf(digits, options), FitOf(options)));
#ifndef EXPERIMENTS_NETS_SUPERVISED_H_
#define EXPERIMENTS_NETS_SUPERVISED_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "experiments/nets/rate_schedule.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/blocks/state.h"
#include "ocannl/train/fit/fit.h"

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

// With the array `loss`; measures test_loss and accuracy, the share that the
// network gets right.
train::MakeFitNet Classifier(const MakeNet& make_net, int64_t classes,
                             DType dtype);
train::FitData DataOf(const Lessons& lessons, const SupervisedOptions& options);
train::FitOptions FitOf(const SupervisedOptions& options);

// MakeFitCode of the three.
absl::StatusOr<std::unique_ptr<train::FitCode>> MakeSupervised(
    const Lessons& lessons, const MakeNet& make_net,
    const SupervisedOptions& options);

}  // namespace ocannl

#endif  // EXPERIMENTS_NETS_SUPERVISED_H_
