// SPDX-License-Identifier: Apache-2.0
//
// What every block is tested for: its shapes, its gradient, its bits.
//
//   auto apply = [](const ParamScope& scope, Tensor x) {
//     return LayerNorm(scope)(x);
//   };
//   EXPECT_EQ(ShapesOf({2, 3}, {4}, apply), "scale:4 shift:4 => 2,3|4");
//   ExpectGradient({2, 3}, {4}, apply);
//   ExpectSameBits({2, 3}, {4}, apply);
#ifndef TESTS_BLOCKS_BLOCK_CHECK_H_
#define TESTS_BLOCKS_BLOCK_CHECK_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/params.h"

namespace ocannl {

// Makes a block, whose parameters have names without a prefix, and applies it.
using ApplyBlock =
    std::function<Tensor(const train::ParamScope& scope, Tensor x)>;

// The parameters of the block, in the order of their creation, and the result
// for an x of that batch row and output row; or the error.
std::string ShapesOf(const Dims& batch, const Dims& outputs,
                     const ApplyBlock& apply);

// Compares the gradients of x and of all parameters, in f64 and near their
// first values, with dual numbers: to 1e-9 of the sum of magnitudes.
void ExpectGradient(const Dims& batch, const Dims& outputs,
                    const ApplyBlock& apply);

// Whether all tiers compute the result and the gradients alike, in f32, on
// inputs of each kind.
void ExpectSameBits(const Dims& batch, const Dims& outputs,
                    const ApplyBlock& apply);

// The result for the `x`, in f32, on the interpreter, where the static index of
// number k is `statics[k]`; parameters have what `given` says or else their
// first values.
struct BlockInputs {
  std::vector<double> x;
  std::map<std::string, std::vector<double>> given = {};
  std::vector<int64_t> statics = {};
};
std::vector<float> ValuesOf(const Dims& batch, const Dims& outputs,
                            const BlockInputs& inputs, const ApplyBlock& apply);

// Likewise the gradient, at x, of the sum of all cells of the result.
std::vector<float> GradientOf(const Dims& batch, const Dims& outputs,
                              const BlockInputs& inputs,
                              const ApplyBlock& apply);

// Likewise, where the cells have weights of 1, 1/2 or 1/4, and a sign.
std::vector<float> WeightedGradientOf(const Dims& batch, const Dims& outputs,
                                      const BlockInputs& inputs,
                                      const ApplyBlock& apply);

}  // namespace ocannl

#endif  // TESTS_BLOCKS_BLOCK_CHECK_H_
