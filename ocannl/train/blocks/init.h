// SPDX-License-Identifier: Apache-2.0
//
// First values of parameters.
//
//   Tensor w = Param(graph, "w", spec, DType::kF32, KaimingUniform());
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

#include "ocannl/core/tensor/leaf.h"

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

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_INIT_H_
