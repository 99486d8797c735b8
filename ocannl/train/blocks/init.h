// SPDX-License-Identifier: Apache-2.0
//
// First values of parameters.
//
//   Tensor w = Param(graph, "w", spec, DType::kF32, KaimingUniform());
//   Linear layer(scope, {.outputs = Dims{64}, .init = TorchLinear()});
//
// fan_in is the number of cells of the parameter's input row, fan_out that of
// its output row, both known only when shapes are inferred. The weights of a
// convolution have their window in the input row, so that fan_in counts it;
// `window` says how many cells it has for fan_out to count it, too.
//
// He et al., "Delving deep into rectifiers" (2015); Glorot and Bengio,
// "Understanding the difficulty of training deep feedforward neural networks"
// (2010).
#ifndef OCANNL_TRAIN_BLOCKS_INIT_H_
#define OCANNL_TRAIN_BLOCKS_INIT_H_

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::train {

// Uniform in [-b, b) with b = sqrt(6 / fan_in); normal of variance 2 / fan_in.
Initializer KaimingUniform();
Initializer KaimingNormal();

// Uniform in [-b, b) with b = sqrt(6 / (fan_in + window * fan_out)); normal of
// variance 2 / (fan_in + window * fan_out).
Initializer XavierUniform(int64_t window);
Initializer XavierNormal(int64_t window);

// Normal of mean 0.
Initializer NormalInit(double standard_deviation);

Initializer ConstantInit(double value);

// The first value of the biases that are added to what `weights` give.
using BiasInitializer = std::function<Initializer(Tensor weights)>;

// All of them 0; uniform in [-b, b) with b = 1 / sqrt(fan_in of the weights).
BiasInitializer ZeroBias();
BiasInitializer TorchBias();

// First values of a layer. From weights alone: with biases of 0.
//
//   .init = XavierUniform(1)
//   .init = {KaimingNormal(), TorchBias()}
struct LayerInit {
  LayerInit(Initializer of_weights,  // NOLINT
            BiasInitializer of_bias = ZeroBias())
      : weights(std::move(of_weights)), bias(std::move(of_bias)) {}
  template <class F>
  requires(std::is_constructible_v<Initializer, F> &&
           !std::is_same_v<std::decay_t<F>, LayerInit>)
      LayerInit(F of_weights)  // NOLINT
      : LayerInit(Initializer(std::move(of_weights))) {}

  Initializer weights;
  BiasInitializer bias;
};

// What PyTorch's nn.Linear and nn.Conv2d begin with: weights and biases uniform
// in [-b, b) with b = 1 / sqrt(fan_in). (Its kaiming_uniform_ with a = sqrt(5);
// its biases have the fan_in of the weights.)
LayerInit TorchLinear();
LayerInit TorchConv();

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_INIT_H_
