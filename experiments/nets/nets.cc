// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/nets.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "ocannl/core/tensor/arrange.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/conv.h"
#include "ocannl/train/blocks/embedding.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/norm.h"
#include "ocannl/train/blocks/softmax.h"
#include "ocannl/train/blocks/transformer.h"
#include "ocannl/train/blocks/vision.h"

namespace ocannl {

using train::Training;

namespace {

// Data in what the blocks of the scope compute.
Tensor InScope(const train::ParamScope& scope, Tensor x) {
  return scope.dtype ? InDType(x, *scope.dtype) : x;
}

std::vector<train::Conv2d> ConvsOf(const train::ParamScope& scope,
                                   const std::vector<int64_t>& channels) {
  std::vector<train::Conv2d> convs;
  for (int64_t count : channels) {
    convs.emplace_back(scope / absl::StrCat("conv", convs.size() + 1),
                       train::Conv2dOptions{.channels = count});
  }
  return convs;
}

// All of them with relu, then the greatest of each 2 x 2 cells.
Tensor Halved(const std::vector<train::Conv2d>& convs, Tensor x) {
  for (const train::Conv2d& conv : convs) x = Relu(conv(x));
  return MaxPool2d(x, train::kHalve);
}

}  // namespace

MakeNet LeNetOf(const train::LeNetOptions& options) {
  return [=](const train::ParamScope& scope) -> Net {
    return [=, net = train::LeNet(scope, options)](Tensor images, Training*) {
      return net(InScope(scope, images));
    };
  };
}

MakeNet CifarConv() {
  return [](const train::ParamScope& scope) -> Net {
    auto conv = [&](absl::string_view name, int64_t channels) {
      return train::ConvBatchNorm(scope / name, {.channels = channels});
    };
    return [=, first = conv("first", 32), second = conv("second", 32),
            third = conv("third", 64),
            mlp = train::Mlp(scope, {.sizes = {128, 10}})](Tensor x,
                                                           Training* training) {
      x = InScope(scope, x);
      x = Relu(second(Relu(first(x, training)), training));
      x = Relu(third(MaxPool2d(x, train::kHalve), training));
      return mlp(MaxPool2d(x, train::kHalve));
    };
  };
}

MakeNet ResNetStack() {
  return [](const train::ParamScope& scope) -> Net {
    auto block = [&](absl::string_view name, int64_t channels, int64_t stride) {
      return train::ResNetBlock(scope / name,
                                {.channels = channels, .stride = stride});
    };
    return [=, stem = train::ConvBatchNorm(scope / "stem", {.channels = 32}),
            first = block("block1", 32, 1), second = block("block2", 64, 2),
            third = block("block3", 128, 2),
            logits = train::Linear(scope / "logits", {.outputs = Dims{10}})](
               Tensor x, Training* training) {
      x = Relu(stem(InScope(scope, x), training));
      for (const train::ResNetBlock* residual : {&first, &second, &third}) {
        x = (*residual)(x, training);
      }
      return logits(train::GlobalAvgPool2d(x));
    };
  };
}

MakeNet SmallConv(const SmallConvOptions& options) {
  return [=](const train::ParamScope& scope) -> Net {
    return
        [=, convs = ConvsOf(scope, options.channels),
         mlp = train::Mlp(scope, {.sizes = {options.hidden, options.classes}})](
            Tensor x, Training*) {
          return mlp(Halved(convs, InScope(scope, x)));
        };
  };
}

MakeNet DigitSum(const SmallConvOptions& options) {
  return [=](const train::ParamScope& scope) -> Net {
    return [net = SmallConv(options)(scope), digits = options.classes](
               Tensor x, Training* training) {
      // 1 at [i, j, i + j].
      NdArray sums(DType::kF32, {digits, digits, 2 * digits - 1});
      for (int64_t i = 0; i < digits; ++i) {
        for (int64_t j = 0; j < digits; ++j) {
          sums.values<float>()[(i * digits + j) * (2 * digits - 1) + i + j] = 1;
        }
      }
      const Tensor images = Einsum1("b|t, h, w, c => b, t|h, w, c", x);
      const Tensor p = train::Softmax(
          "...|v => ...|0", InDType(net(images, training), DType::kF32));
      const Tensor both =
          Einsum("b|i; b|j => b|i, j", Einsum1("b, 0|v => b|v", p),
                 Einsum1("b, 1|v => b|v", p));
      const Tensor table =
          Data(*x.graph, training == train::kInference ? "test_sums" : "sums",
               sums, {.rows = {Dims{}, sums.dims(), Dims{}}});
      return Log(Einsum("b|i, j; |i, j, s => b|s", both, table) + 1e-6);
    };
  };
}

namespace {

// Ids b|t as a batch b,t|.
Tensor Places(Tensor ids) {
  return Einsum1("b|t => b, t|", InDType(ids, DType::kI32));
}

// What the last of `context` places has: b,t|v gives b|v.
Tensor LastPlace(Tensor x, int64_t context) {
  return Einsum1("b, 0|v => b|v", Part("..., t|...", x, context - 1, 1));
}

Net LetterPerceptron(const train::ParamScope& scope, int64_t vocabulary,
                     bool has_norm) {
  const train::Embedding table(scope / "letter",
                               {.count = vocabulary, .size = 24});
  const train::Linear first(scope / "first",
                            {.outputs = Dims{200}, .bias = !has_norm});
  const train::Linear last(scope / "last", {.outputs = Dims{vocabulary}});
  if (!has_norm) {
    return [=](Tensor ids, Training*) {
      return last(Tanh(first(Einsum1("b, t|d => b|t, d", table(Places(ids))))));
    };
  }
  const train::BatchNorm norm(scope / "norm");
  return [=](Tensor ids, Training* training) {
    const Tensor h = first(Einsum1("b, t|d => b|t, d", table(Places(ids))));
    return last(Tanh(norm(h, training)));
  };
}

}  // namespace

MakeNet NextLetter(LetterModel model, int64_t vocabulary, int64_t context) {
  return [=](const train::ParamScope& scope) -> Net {
    switch (model) {
      case LetterModel::kBigram: {
        const train::Embedding table(scope / "letter",
                                     {.count = vocabulary, .size = vocabulary});
        return [=](Tensor ids, Training*) {
          return LastPlace(table(Places(ids)), context);
        };
      }
      case LetterModel::kMlp:
        return LetterPerceptron(scope, vocabulary, /*has_norm=*/false);
      case LetterModel::kBatchNorm:
        return LetterPerceptron(scope, vocabulary, /*has_norm=*/true);
      case LetterModel::kTransformer: {
        const train::DecoderOnly net(
            scope, {.vocabulary = vocabulary,
                    .length = context,
                    .layers = 2,
                    .block = {.size = 64, .heads = 4, .hidden = 256}});
        return [=](Tensor ids, Training* training) {
          return LastPlace(net(Places(ids), training), context);
        };
      }
    }
    __builtin_unreachable();
  };
}

MakeNet Gpt2Mini(const Gpt2MiniOptions& options) {
  return [=](const train::ParamScope& scope) -> Net {
    const train::DecoderOnly net(scope,
                                 {.vocabulary = options.vocabulary,
                                  .length = options.length,
                                  .layers = options.layers,
                                  .block = {.size = options.size,
                                            .heads = options.heads,
                                            .hidden = 4 * options.size,
                                            .dropout = options.dropout}});
    return [net](Tensor tokens, Training* training) {
      return net(InDType(tokens, DType::kI32), training);
    };
  };
}

MakeNet EncoderNet(const EncoderNetOptions& options) {
  return [=](const train::ParamScope& scope) -> Net {
    const train::TransformerOptions block{.size = options.size,
                                          .heads = options.heads,
                                          .hidden = 4 * options.size,
                                          .pre_norm = false};
    const train::TokenVectors vectors(scope, options.vocabulary, options.length,
                                      block);
    const train::Encoder layers(scope, options.layers, block);
    return [=](Tensor tokens, Training* training) {
      const Tensor x = vectors(InDType(tokens, DType::kI32), training);
      return vectors.Logits(layers(x, std::nullopt, training));
    };
  };
}

}  // namespace ocannl
