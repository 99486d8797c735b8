// SPDX-License-Identifier: Apache-2.0
//
// The networks of the experiments.
#ifndef EXPERIMENTS_NETS_NETS_H_
#define EXPERIMENTS_NETS_NETS_H_

#include <cstdint>

#include "experiments/nets/supervised.h"
#include "ocannl/train/blocks/transformer.h"

namespace ocannl {

// LeNet (blocks/vision.h) for images of 28 x 28 x 1 cells and ten classes.
MakeNet LeNetOf();

// For images of 32 x 32 x 3 cells and ten classes: 3 x 3 convolutions to 32,
// 32 and 64 channels with batch norm and relu, the image halved after the
// second and the third by the greatest cells, and a perceptron of 128.
MakeNet CifarConv();

// A language model with decoder blocks only (blocks/transformer.h).
struct Gpt2MiniOptions {
  int64_t vocabulary;
  int64_t length;
  int64_t layers = 4;
  int64_t size = 128;
  int64_t heads = 4;
  double dropout = 0;
};
MakeNet Gpt2Mini(const Gpt2MiniOptions& options);

}  // namespace ocannl

#endif  // EXPERIMENTS_NETS_NETS_H_
