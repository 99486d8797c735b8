// SPDX-License-Identifier: Apache-2.0
//
// Whole networks, to the last bit: an example alone is the example in a batch,
// a sequence that is padded under a mask is the sequence, and one place after
// the other with a cache is the whole sequence. 5 s.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/nets/nets.h"
#include "experiments/nets/supervised.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/blocks/attention.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/transformer.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/run/predict.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using train::kInference;

template <class T>
T Ok(absl::StatusOr<T> value) {
  CHECK_OK(value);
  return *std::move(value);
}

Context AfterRun(const Context& context, const Assignments& code) {
  Routine routine = Ok(ToRoutine(context, code, {}));
  CHECK_OK(routine.Run());
  return routine.context();
}

NdArray Normal(const Dims& dims, uint32_t seed) {
  NdArray array(DType::kF32, dims);
  std::mt19937 random(seed);
  for (float& value : array.values<float>()) {
    value = static_cast<float>(random()) * 0x1p-31F - 1;
  }
  return array;
}

NdArray Tokens(const Dims& dims, uint32_t below, uint32_t seed) {
  NdArray array(DType::kI32, dims);
  std::mt19937 random(seed);
  for (int32_t& value : array.values<int32_t>()) {
    value = static_cast<int32_t>(random() % below);
  }
  return array;
}

// The cells of a part of the first axis.
NdArray Part(const NdArray& all, int64_t first, int64_t count) {
  Dims dims = all.dims();
  const size_t row = all.bytes() / dims[0];
  dims[0] = count;
  NdArray part(all.dtype(), dims);
  std::copy_n(all.data() + first * row, count * row, part.data());
  return part;
}

// The context after the parameters of `output` got their first values, and
// `varied` something added: the first values of many are 0.
Context WithParameters(train::Model& model, Tensor output,
                       const std::vector<Tensor>& varied,
                       const Context& context) {
  const Context started =
      AfterRun(context, Ok(train::InitParams(model, output)));
  uint32_t seed = 100;
  for (Tensor p : varied) {
    NdArray array = Ok(started.Read(p.node().name));
    const NdArray added = Normal(array.dims(), ++seed);
    for (int64_t k = 0; k < array.size(); ++k) {
      // Of a running variance, it must stay above 0.
      array.values<float>()[k] += added.values<float>()[k] / 8;
    }
    CHECK_OK(started.Write(p.node().name, array));
  }
  return started;
}

// A network of inputs, each an array whose first axis is that of examples.
struct BatchNet {
  std::vector<std::string> shapes;  // of the inputs, without the examples
  std::function<Tensor(const train::ParamScope& scope,
                       const std::vector<Tensor>& inputs)>
      make;
};

// What the network predicts of all examples at once.
NdArray Predicted(const BatchNet& net, const std::vector<NdArray>& inputs,
                  const Backend* backend) {
  train::Model model;
  std::vector<Tensor> tensors;
  for (size_t k = 0; k < inputs.size(); ++k) {
    tensors.push_back(Input(model.graph, absl::StrCat("input", k),
                            absl::StrCat(inputs[k].dims()[0], net.shapes[k]),
                            inputs[k].dtype()));
  }
  const Tensor output =
      net.make({.graph = &model.graph, .name = "net"}, tensors);
  const TestDevice host(backend);
  // Running averages of batch norm too.
  const Context context = WithParameters(
      model, output, train::AllParameters(model, output), host.context);
  train::Predictor predictor =
      Ok(train::Predictor::Make(model, output, tensors, context));
  return Ok(predictor.Predict(inputs));
}

const Backend* Tier(const std::string& name) {
  return Ok(FindTier(name, {.threads = 1}));
}

// Whether row k of `rows` is row `first` + k of `all`.
void ExpectRows(const NdArray& rows, const NdArray& all, int64_t first,
                const std::string& what) {
  const NdArray part = Part(all, first, rows.dims()[0]);
  EXPECT_TRUE(SameBits(part, rows)) << what;
}

// Examples alone and in batches, of up to `most` on the fast tiers and of 3 on
// the interpreter.
void ExpectSameRows(const BatchNet& net, const std::vector<NdArray>& inputs,
                    int64_t most) {
  for (const std::string& tier : AvailableTiers()) {
    const int64_t count = tier == "interp" ? std::min<int64_t>(most, 3) : most;
    auto part = [&](int64_t first, int64_t size) {
      std::vector<NdArray> some;
      for (const NdArray& input : inputs) {
        some.push_back(Part(input, first, size));
      }
      return Predicted(net, some, Tier(tier));
    };
    const NdArray all = part(0, count);
    EXPECT_FALSE(SameBits(Part(all, 0, 1), Part(all, 1, 1))) << tier;
    for (int64_t size : {1, 2, 8}) {
      if (size >= count) break;
      for (int64_t first : {int64_t{0}, count - size}) {
        ExpectRows(part(first, size), all, first,
                   absl::StrCat(tier, ", ", size, " from ", first));
      }
    }
  }
}

BatchNet OfImages(const MakeNet& make_net, const std::string& shape) {
  return {
      {"|" + shape},
      [=](const train::ParamScope& scope, const std::vector<Tensor>& inputs) {
        return make_net(scope)(inputs[0], kInference);
      }};
}

TEST(NetBatchesTest, LeNet) {
  ExpectSameRows(OfImages(LeNetOf(), "28,28,1"), {Normal({64, 28, 28, 1}, 1)},
                 64);
}

TEST(NetBatchesTest, CifarConv) {
  ExpectSameRows(OfImages(CifarConv(), "8,8,3"), {Normal({64, 8, 8, 3}, 2)},
                 64);
}

TEST(NetBatchesTest, Perceptron) {
  const BatchNet net = {
      {"|200"},
      [](const train::ParamScope& scope, const std::vector<Tensor>& inputs) {
        return train::Mlp(scope, {.sizes = {100, 33, 1}})(inputs[0]);
      }};
  ExpectSameRows(net, {Normal({64, 200}, 3)}, 64);
}

constexpr int64_t kLongest = 40;

// Two blocks of an encoder, with a mask of the places that each may see.
BatchNet MaskedEncoder(int64_t length) {
  return {
      {absl::StrCat(",", length, "|32"),
       absl::StrCat(",", length, "|", length, "->")},
      [](const train::ParamScope& scope, const std::vector<Tensor>& inputs) {
        const train::Encoder encoder(scope, 2,
                                     {.size = 32, .heads = 2, .hidden = 64});
        return encoder(inputs[0], inputs[1], kInference);
      }};
}

// A sequence of 16 places alone, and as the first places of a longer one in a
// batch, whose other places no place sees.
TEST(NetBatchesTest, APaddedSequence) {
  constexpr int64_t kPlaces = 16;
  for (const std::string& tier : AvailableTiers()) {
    const NdArray padded = Normal({3, kLongest, 32}, 4);
    NdArray mask(DType::kBool, {3, kLongest, kLongest});
    for (int64_t k = 0; k < mask.size(); ++k) {
      const int64_t length =
          k / (kLongest * kLongest) == 1 ? kPlaces : kLongest;
      mask.values<bool>()[k] = k % kLongest < length;
    }
    const NdArray all =
        Predicted(MaskedEncoder(kLongest), {padded, mask}, Tier(tier));
    NdArray alone(DType::kF32, {1, kPlaces, 32});
    std::copy_n(padded.values<float>().data() + kLongest * 32, kPlaces * 32,
                alone.values<float>().data());
    NdArray sees_all(DType::kBool, {1, kPlaces, kPlaces});
    for (bool& sees : sees_all.values<bool>()) sees = true;
    const NdArray one =
        Predicted(MaskedEncoder(kPlaces), {alone, sees_all}, Tier(tier));
    for (int64_t k = 0; k < one.size(); ++k) {
      ASSERT_EQ(one.values<float>()[k], all.values<float>()[kLongest * 32 + k])
          << tier << ", place " << k / 32;
    }
  }
}

// GPT-2 mini (experiments/nets/nets.h), smaller on the interpreter.
struct Gpt2 {
  Gpt2(int64_t sequences, int64_t places, int64_t layers)
      : length(places),
        batch(sequences),
        net({.graph = &model.graph, .name = "net"},
            {.vocabulary = 27,
             .length = places,
             .layers = layers,
             .block = {.size = 128, .heads = 4, .hidden = 512}}) {}

  int64_t length, batch;
  train::Model model;
  train::DecoderOnly net;
};

// Logits of all places at once, batch,place,letter.
NdArray AtOnce(const NdArray& tokens, int64_t layers, const Backend* backend) {
  const Dims dims = tokens.dims();
  Gpt2 gpt2(dims[0], dims[1], layers);
  const Tensor input =
      Input(gpt2.model.graph, "tokens",
            absl::StrCat(dims[0], ",", dims[1], "|"), DType::kI32);
  const Tensor logits = gpt2.net(input, kInference);
  const TestDevice host(backend);
  const Context context = WithParameters(
      gpt2.model, logits, train::Parameters(gpt2.model, logits), host.context);
  train::Predictor predictor =
      Ok(train::Predictor::Make(gpt2.model, logits, {input}, context));
  return Ok(predictor.Predict({tokens}));
}

// The same of one sequence, place,letter, with a cache.
NdArray OneByOne(const NdArray& tokens, int64_t layers,
                 const Backend* backend) {
  const int64_t length = tokens.dims()[1];
  Gpt2 gpt2(1, length, layers);
  train::Model& model = gpt2.model;
  train::Decoding decoding{
      .position = model.graph.AddStatic("position", length),
      .length = length,
      .batch = {1}};
  const Tensor whole =
      gpt2.net(Input(model.graph, "tokens", absl::StrCat("1,", length, "|"),
                     DType::kI32),
               kInference);
  const TestDevice host(backend);
  // Those of the step have the cache beside the parameters.
  const Context context = WithParameters(
      model, whole, train::Parameters(model, whole), host.context);
  const Tensor token = Input(model.graph, "token", "1|", DType::kI32);
  const Tensor logits = gpt2.net.Step(token, decoding);
  const Assignments forward = Ok(train::Forward(model, logits));
  const train::UpdateCode cache = Ok(train::UpdateStates(model, decoding.step));
  Routine step =
      Ok(ToRoutine(AfterRun(context, cache.init),
                   train::Sequence("step", {forward, cache.update}), {}));
  NdArray all(DType::kF32, {length, 27});
  for (int64_t place = 0; place < length; ++place) {
    CHECK_OK(step.context().Write(
        "token", NdArray::Of<int32_t>({1}, {tokens.values<int32_t>()[place]})));
    CHECK_OK(step.Set("position", place));
    CHECK_OK(step.Run());
    const NdArray some = Ok(step.context().Read(logits.node().name));
    std::copy_n(some.values<float>().data(), 27,
                all.values<float>().data() + place * 27);
  }
  return all;
}

TEST(NetBatchesTest, Gpt2MiniWithItsCache) {
  for (const std::string& tier : AvailableTiers()) {
    const int64_t layers = tier == "interp" ? 1 : 4;
    const int64_t length = tier == "interp" ? 9 : 40;
    const NdArray tokens = Tokens({3, length}, 27, 5);
    const NdArray all = AtOnce(tokens, layers, Tier(tier));
    const NdArray second = Part(tokens, 1, 1);
    ExpectRows(AtOnce(second, layers, Tier(tier)), all, 1,
               tier + ", one sequence");
    const NdArray cached = OneByOne(second, layers, Tier(tier));
    ExpectRows(cached.Reshaped({1, length, 27}), all, 1, tier + ", a cache");
  }
}

}  // namespace
}  // namespace ocannl
