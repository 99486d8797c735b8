// SPDX-License-Identifier: Apache-2.0
//
// The networks of the experiments.
#ifndef EXPERIMENTS_NETS_NETS_H_
#define EXPERIMENTS_NETS_NETS_H_

#include <cstdint>
#include <vector>

#include "experiments/nets/supervised.h"
#include "ocannl/train/blocks/transformer.h"
#include "ocannl/train/blocks/vision.h"

namespace ocannl {

// LeNet (blocks/vision.h).
MakeNet LeNetOf(const train::LeNetOptions& options = {});

// For images of 32 x 32 x 3 cells and ten classes: 3 x 3 convolutions to 32,
// 32 and 64 channels with batch norm and relu, the image halved after the
// second and the third by the greatest cells, and a perceptron of 128.
MakeNet CifarConv();

// For the same images: a 3 x 3 convolution to 32 channels with batch norm and
// relu, blocks of ResNet (blocks/vision.h) of 32, 64 and 128 channels, of which
// the last two halve the image, the mean of each channel and a linear map.
MakeNet ResNetStack();

// 3 x 3 convolutions with relu to so many channels, one after the other, the
// image halved by the greatest cells after the last, and a perceptron: for
// images of an even size.
struct SmallConvOptions {
  std::vector<int64_t> channels;
  int64_t hidden;
  int64_t classes;
};
MakeNet SmallConv(const SmallConvOptions& options);

// For sums of two digits, images b|2,height,width,1: a SmallConv, the same for
// both, whose logits are those of the digits; those of a sum are the logarithm
// of the probability that independent digits have it. Manhaeve et al.,
// "DeepProbLog", 2018.
MakeNet DigitSum(const SmallConvOptions& options);

// Models of the letter after `context` others, in the order of Karpathy's
// "makemore": logits from the last letter alone; from the vectors of all, by a
// perceptron with tanh (Bengio et al., "A neural probabilistic language model",
// 2003), without or with batch norm; by a transformer.
enum class LetterModel { kBigram, kMlp, kBatchNorm, kTransformer };
MakeNet NextLetter(LetterModel model, int64_t vocabulary, int64_t context);

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

// Logits for each place of a sequence by blocks that see all places, with norms
// after their parts: the shape of BERT (Devlin et al., 2018).
struct EncoderNetOptions {
  int64_t vocabulary;
  int64_t length;
  int64_t layers;
  int64_t size;
  int64_t heads;
};
MakeNet EncoderNet(const EncoderNetOptions& options);

}  // namespace ocannl

#endif  // EXPERIMENTS_NETS_NETS_H_
