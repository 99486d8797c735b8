// SPDX-License-Identifier: Apache-2.0
//
// One place after the other, with a cache, is the whole sequence at once.
#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/transformer.h"
#include "ocannl/train/decode/generator.h"
#include "tests/agree/all_tiers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::HasSubstr;
using train::Decoding;
using train::kInference;
using train::TransformerOptions;

constexpr int64_t kTokens = 7;

struct Sizes {
  int64_t batch;
  int64_t length;
  TransformerOptions block;
};

NdArray RandomTokens(const Dims& dims, std::mt19937& random) {
  NdArray tokens(DType::kI32, dims);
  for (int32_t& token : tokens.values<int32_t>()) {
    token = static_cast<int32_t>(random() % kTokens);
  }
  return tokens;
}

// Runs the code in a context that follows `context`.
Routine Linked(const Context& context, const Assignments& code) {
  absl::StatusOr<Routine> routine = ToRoutine(context, code, {});
  CHECK_OK(routine);
  return *std::move(routine);
}

Context AfterRun(const Context& context, const Assignments& code) {
  Routine routine = Linked(context, code);
  CHECK_OK(routine.Run());
  return routine.context();
}

template <class T>
T Ok(absl::StatusOr<T> value) {
  CHECK_OK(value);
  return *std::move(value);
}

// A language model, or a transformer, whose parameters are random; its tokens
// are places,batch, and those of a source are another array.
struct Net {
  Net(const Sizes& of, bool has_source)
      : sizes(of),
        places(Tokens("places", of.length)),
        source(Tokens("source", 5)) {
    const train::ParamScope scope{.graph = &model.graph, .name = "net"};
    decoding.position = model.graph.AddStatic("position", of.length);
    decoding.length = of.length;
    decoding.batch = {of.batch};
    decoding.memory_length = 5;
    if (has_source) {
      const train::Transformer net(scope, {.source_vocabulary = kTokens,
                                           .target_vocabulary = kTokens,
                                           .source_length = 5,
                                           .target_length = of.length,
                                           .encoder_layers = 1,
                                           .decoder_layers = 2,
                                           .block = of.block});
      all = net(Sequence(source), Sequence(places), kInference);
      next = [=, this](Tensor token, Decoding& state) {
        return net.Step(token, net.Memory(Sequence(source), kInference), state);
      };
    } else {
      const train::DecoderOnly net(scope, {.vocabulary = kTokens,
                                           .length = of.length,
                                           .layers = 2,
                                           .block = of.block});
      all = net(Sequence(places), kInference);
      next = [=](Tensor token, Decoding& state) {
        return net.Step(token, state);
      };
    }
  }

  Tensor Tokens(const char* name, int64_t length) {
    const Dims dims = {length, sizes.batch};
    return Data(model.graph, name, RandomTokens(dims, random),
                {.rows = {dims, Dims{}, Dims{}}});
  }
  static Tensor Sequence(Tensor of) { return Einsum1("t, b| => b, t|", of); }

  // The context after the parameters got random values.
  Context Start(const Context& context) {
    const Context started =
        AfterRun(context, Ok(train::InitParams(model, *all)));
    for (Tensor p : train::Parameters(model, *all)) {
      NdArray array = Ok(started.Read(p.node().name));
      for (float& value : array.values<float>()) {
        value += static_cast<float>(
            std::uniform_real_distribution(-0.2, 0.2)(random));
      }
      CHECK_OK(started.Write(p.node().name, array));
    }
    return started;
  }

  // The code of one place, which keeps `logits`.
  struct StepCode {
    Tensor logits;
    Assignments init, start, step;
  };
  StepCode Step() {
    const Tensor logits = next(Slice(places, decoding.position), decoding);
    const train::UpdateCode start =
        Ok(train::UpdateStates(model, decoding.start));
    const Assignments forward = Ok(train::Forward(model, logits));
    const train::UpdateCode step =
        Ok(train::UpdateStates(model, decoding.step));
    return {.logits = logits,
            .init = train::Sequence("init", {start.init, step.init}),
            .start = start.update,
            .step = train::Sequence("step", {forward, step.update})};
  }

  std::mt19937 random{1};
  Sizes sizes;
  train::Model model;
  Tensor places, source;
  Decoding decoding{};
  std::optional<Tensor> all;  // logits
  std::function<Tensor(Tensor, Decoding&)> next;
};

// The logits of all places at once, then of one after the other, twice: what a
// sequence leaves in the cache does not change the next. Both
// batch,place,token.
struct Logits {
  std::vector<float> at_once, one_by_one;
};
Logits BothWays(const Sizes& sizes, bool has_source) {
  Net net(sizes, has_source);
  TestDevice host;
  const Context started = net.Start(host.context);
  Routine at_once = Linked(started, Ok(train::Forward(net.model, *net.all)));
  CHECK_OK(at_once.Run());
  const NdArray all = Ok(at_once.context().Read(net.all->node().name));
  const Net::StepCode code = net.Step();
  Routine start = Linked(AfterRun(at_once.context(), code.init), code.start);
  Routine step = Linked(start.context(), code.step);
  Logits logits;
  logits.at_once.assign(all.values<float>().begin(), all.values<float>().end());
  logits.one_by_one.resize(logits.at_once.size());
  for (int64_t k = 0; k < 2 * sizes.length; ++k) {
    const int64_t place = k % sizes.length;
    if (place == 0) CHECK_OK(start.Run());
    CHECK_OK(step.Set("position", place));
    CHECK_OK(step.Run());
    const NdArray some = Ok(step.context().Read(code.logits.node().name));
    for (int64_t i = 0; i < some.size(); ++i) {
      logits.one_by_one[(i / kTokens * sizes.length + place) * kTokens +
                        i % kTokens] = some.values<float>()[i];
    }
  }
  return logits;
}

TransformerOptions Block(int64_t size, int64_t heads) {
  return {.size = size, .heads = heads, .hidden = 2 * size};
}

TEST(DecodingTest, BitsOfTheWholeSequence) {
  std::vector<Sizes> all = {{2, 6, Block(8, 2)},
                            {2, 40, Block(48, 3)},
                            {1, 6, Block(8, 2)},
                            // Heads of 32 and of 64 cells.
                            {1, 34, Block(128, 4)},
                            {1, 34, Block(128, 2)},
                            {3, 5, Block(8, 2)}};
  all.back().block.pre_norm = false;
  all.back().block.rope_length = 5;
  all.back().block.temperature = 0.5;
  for (const Sizes& sizes : all) {
    for (bool has_source : {false, true}) {
      const auto [at_once, one_by_one] = BothWays(sizes, has_source);
      EXPECT_EQ(at_once, one_by_one)
          << sizes.batch << " of " << sizes.length << ", " << has_source;
      EXPECT_NE(at_once[0], at_once[kTokens]);
    }
  }
}

TEST(DecodingTest, SameBitsOnAllTiers) {
  for (bool has_source : {false, true}) {
    Net net({2, 6, Block(8, 2)}, has_source);
    const Net::StepCode code = net.Step();
    EXPECT_TRUE(fuzz::TiersAgree(Ok(CompileProgram(code.step, {}))));
    if (!has_source) continue;
    EXPECT_TRUE(fuzz::TiersAgree(Ok(CompileProgram(code.start, {}))));
  }
}

// What a generator writes after the first places of each sequence.
std::vector<int32_t> Generated(const Backend& tier, bool has_source,
                               const train::SampleOptions& sample) {
  Net net({3, 8, Block(8, 2)}, has_source);
  TestDevice host(&tier);
  train::Generator generator = Ok(train::Generator::Make(
      net.model,
      {.length = 8, .batch = 3, .memory_length = 5, .sample = sample}, net.next,
      net.Start(host.context)));
  std::mt19937 random(2);
  std::vector<int32_t> all;
  for (int64_t given : {1, 3}) {
    const NdArray tokens =
        Ok(generator.Generate(RandomTokens({3, given}, random), 9 - given));
    for (int32_t token : tokens.values<int32_t>()) all.push_back(token);
  }
  return all;
}

TEST(GeneratorTest, SameTokensOnAllTiers) {
  for (bool has_source : {false, true}) {
    train::SampleOptions sample{.temperature = 0};
    if (has_source) sample = {.temperature = 0.8, .top_k = 4};
    const std::vector<int32_t> expected =
        Generated(*TestDevice::Interpreter(), has_source, sample);
    EXPECT_EQ(expected.size(), 3u * 8 + 3 * 6);
    EXPECT_TRUE(fuzz::OnEachTier([&](const Backend& tier) -> std::string {
      return Generated(tier, has_source, sample) == expected ? "" : "others";
    }));
  }
}

// The greatest logits of the whole network, again and again.
TEST(GeneratorTest, TokensWithoutTheCache) {
  Net net({2, 8, Block(16, 2)}, true);
  TestDevice host;
  const Context started = net.Start(host.context);
  Routine whole = Linked(started, Ok(train::Forward(net.model, *net.all)));
  NdArray places(DType::kI32, {8, 2});
  const NdArray prompt = NdArray::Of<int32_t>({2, 2}, {3, 1, 6, 0});
  for (int64_t k = 0; k < 4; ++k) {
    places.values<int32_t>()[k % 2 * 2 + k / 2] = prompt.values<int32_t>()[k];
  }
  std::vector<int32_t> expected(12);
  for (int64_t at = 1; at < 7; ++at) {
    CHECK_OK(whole.context().Write("places", places));
    CHECK_OK(whole.Run());
    const NdArray logits = Ok(whole.context().Read(net.all->node().name));
    for (int64_t b = 0; b < 2; ++b) {
      const auto some =
          logits.values<float>().subspan((b * 8 + at) * kTokens, kTokens);
      const auto best = static_cast<int32_t>(
          std::max_element(some.begin(), some.end()) - some.begin());
      places.values<int32_t>()[(at + 1) * 2 + b] = best;
      expected[b * 6 + at - 1] = best;
    }
  }
  train::Generator generator =
      Ok(train::Generator::Make(net.model,
                                {.length = 8,
                                 .batch = 2,
                                 .memory_length = 5,
                                 .sample = {.temperature = 0}},
                                net.next, whole.context()));
  const NdArray tokens = Ok(generator.Generate(prompt, 6));
  EXPECT_THAT(tokens.values<int32_t>(), testing::ElementsAreArray(expected));
}

TEST(GeneratorTest, Prompts) {
  Net net({2, 8, Block(8, 2)}, false);
  TestDevice host;
  train::Generator generator = Ok(train::Generator::Make(
      net.model, {.length = 8, .batch = 2}, net.next, net.Start(host.context)));
  auto error = [&](const NdArray& prompt, int64_t count) {
    return std::string(generator.Generate(prompt, count).status().message());
  };
  EXPECT_EQ(error(NdArray(DType::kI32, {2, 8}), 1), "");
  EXPECT_EQ(error(NdArray(DType::kI32, {2, 8}), 2),
            "a prompt of i32 2,8 and 2 tokens more: give i32 of 2 rows; all "
            "tokens but the last must fit 8 places");
  EXPECT_THAT(error(NdArray(DType::kI32, {2, 0}), 2), HasSubstr("i32 2,0 and"));
  EXPECT_THAT(error(NdArray(DType::kI32, {3, 1}), 2), HasSubstr("i32 3,1 and"));
  EXPECT_THAT(error(NdArray(DType::kF32, {2, 1}), 2), HasSubstr("f32 2,1 and"));
  // Two draws of one prompt.
  const NdArray one = Ok(generator.Generate(NdArray(DType::kI32, {2, 1}), 8));
  const NdArray two = Ok(generator.Generate(NdArray(DType::kI32, {2, 1}), 8));
  EXPECT_NE(one.values<int32_t>(), two.values<int32_t>());
}

}  // namespace
}  // namespace ocannl
