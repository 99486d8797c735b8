// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/reversals.h"

#include <optional>
#include <random>
#include <utility>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/checkpoint/interval.h"
#include "ocannl/train/decode/generator.h"
#include "ocannl/train/run/predict.h"

namespace ocannl {
namespace {

constexpr train::SampleOptions kLikeliest{.temperature = 0};

Examples ExamplesOf(const ReverserOptions& options, int64_t count,
                    std::mt19937& random) {
  const int64_t length = options.length;
  Examples examples = {.inputs = NdArray(DType::kI32, {count, length, 2}),
                       .classes = NdArray(DType::kI32, {count, length})};
  const auto inputs = examples.inputs.values<int32_t>();
  const auto classes = examples.classes.values<int32_t>();
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t t = 0; t < length; ++t) {
      const auto letter = static_cast<int32_t>(
          random() % static_cast<uint64_t>(options.letters));
      inputs[(k * length + t) * 2] = letter;
      classes[(k + 1) * length - 1 - t] = letter;
    }
    for (int64_t t = 0; t < length; ++t) {
      inputs[(k * length + t) * 2 + 1] = static_cast<int32_t>(
          t == 0 ? options.letters : classes[k * length + t - 1]);
    }
  }
  return examples;
}

// The sources of the inputs, {count, length}.
NdArray SourcesOf(const NdArray& inputs) {
  NdArray sources(DType::kI32, {inputs.dims()[0], inputs.dims()[1]});
  for (int64_t k = 0; k < sources.size(); ++k) {
    sources.values<int32_t>()[k] = inputs.values<int32_t>()[2 * k];
  }
  return sources;
}

}  // namespace

Lessons Reverser::MakeLessons(int64_t count, int64_t tests,
                              uint32_t seed) const {
  std::mt19937 random(seed);
  Examples train = ExamplesOf(options_, count, random);
  return {.train = std::move(train),
          .test = ExamplesOf(options_, tests, random),
          .classes = options_.letters + 1};
}

MakeNet Reverser::MakeTransformer() {
  return [this](const train::ParamScope& scope) -> Net {
    const train::Transformer net(
        scope,
        {.source_vocabulary = options_.letters,
         .target_vocabulary = options_.letters + 1,
         .source_length = options_.length,
         .target_length = options_.length,
         .encoder_layers = options_.layers,
         .decoder_layers = options_.layers,
         .block = {
             .size = options_.size, .heads = 4, .hidden = 2 * options_.size}});
    nets_.insert_or_assign(scope.graph, net);
    return [net](Tensor inputs, train::Training* training) {
      const Tensor tokens = InDType(inputs, DType::kI32);
      return net(Einsum1("b, t|0 => b, t|", tokens),
                 Einsum1("b, t|1 => b, t|", tokens), training);
    };
  };
}

absl::StatusOr<Reverser::Reversals> Reverser::Reverse(train::Fitted& trained,
                                                      const NdArray& inputs,
                                                      How how) const {
  return how == kCached ? Cached(trained, inputs) : Whole(trained, inputs);
}

absl::StatusOr<Reverser::Reversals> Reverser::Cached(
    train::Fitted& trained, const NdArray& inputs) const {
  train::Model& model = trained.code->model;
  const train::Transformer& net = nets_.at(&model.graph);
  const NdArray values = SourcesOf(inputs);
  const Tensor source = Data(model.graph, "source", values,
                             {.rows = {values.dims(), Dims{}, Dims{}}});
  OCANNL_ASSIGN_OR_RETURN(
      train::Generator generator,
      train::Generator::Make(
          model,
          {.length = options_.length,
           .batch = values.dims()[0],
           .memory_length = options_.length,
           .sample = kLikeliest},
          [&](Tensor token, train::Decoding& decoding) {
            return net.Step(token, net.Memory(source, train::kInference),
                            decoding);
          },
          *trained.context));
  NdArray prompt(DType::kI32, {values.dims()[0], 1});
  for (int32_t& first : prompt.values<int32_t>()) {
    first = static_cast<int32_t>(options_.letters);
  }
  OCANNL_RETURN_IF_ERROR(generator.Generate(prompt, options_.length).status());
  const double start = train::SteadySeconds();
  OCANNL_ASSIGN_OR_RETURN(NdArray letters,
                          generator.Generate(prompt, options_.length));
  return Reversals{.letters = std::move(letters),
                   .seconds = train::SteadySeconds() - start};
}

absl::StatusOr<Reverser::Reversals> Reverser::Whole(
    train::Fitted& trained, const NdArray& inputs) const {
  train::Model& model = trained.code->model;
  const Dims& dims = inputs.dims();
  const Tensor input =
      Data(model.graph, "reversed", inputs,
           {.rows = {Dims{dims[0], dims[1]}, Dims{2}, Dims{}}});
  OCANNL_ASSIGN_OR_RETURN(const Tensor logits,
                          trained.code->net.predict(input));
  const Tensor best = train::Sample(logits, kLikeliest, Number(model.graph, 0));
  OCANNL_ASSIGN_OR_RETURN(
      train::Predictor next,
      train::Predictor::Make(model, best, {input}, *trained.context));
  Reversals reversals;
  for (int run = 0; run < 2; ++run) {
    const double start = train::SteadySeconds();
    NdArray given = inputs;  // but the places to come
    for (int64_t k = 0; k < dims[0] * options_.length; ++k) {
      given.values<int32_t>()[2 * k + 1] =
          static_cast<int32_t>(options_.letters);
    }
    for (int64_t t = 0; t < options_.length; ++t) {
      OCANNL_ASSIGN_OR_RETURN(reversals.letters, next.Predict({given}));
      for (int64_t k = 0; t + 1 < options_.length && k < dims[0]; ++k) {
        const int64_t place = k * options_.length + t;
        given.values<int32_t>()[(place + 1) * 2 + 1] =
            reversals.letters.values<int32_t>()[place];
      }
    }
    reversals.seconds = train::SteadySeconds() - start;
  }
  return reversals;
}

}  // namespace ocannl
