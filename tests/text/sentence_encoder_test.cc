// SPDX-License-Identifier: Apache-2.0
//
// A tiny BERT from its files to its vectors. 2 seconds.
#include "ocannl/train/text/sentence_encoder.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/tiers/tiers.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"
#include "tests/text/small_bert.h"

namespace ocannl::train {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using SentenceEncoderTest = SmallBert;

TEST_F(SentenceEncoderTest, VectorsOfTheFormulasOnAllTiers) {
  const std::vector<std::string> texts = {
      "The cats sleep.", "A dog running", "the", "",
      "the dog runs. a cat runs. the cat sleeps. a dog sleeps."};
  const Reference reference(weights_);
  std::vector<std::string> bits;
  for (std::string tier : {"interp", "x86-avx2", "x86-avx512"}) {
    const auto backend = FindTier(tier);
    if (!backend.ok()) continue;
    TestDevice host(*backend);
    auto bert = SentenceEncoder::Load(folder_, host.context);
    ASSERT_THAT(bert, IsOk());
    const auto rows = bert->Embed(texts);
    ASSERT_THAT(rows, IsOk());
    bits.emplace_back(rows->AsString());
    for (size_t k = 0; k < texts.size(); ++k) {
      std::vector<int32_t> ids = bert->pieces().Encode(texts[k]);
      ids.insert(ids.begin(), 2);
      ids.push_back(3);
      const std::vector<double> expected = reference.Embed(ids);
      for (int d = 0; d < kSize; ++d) {
        EXPECT_NEAR(rows->AsDouble(k * kSize + d), expected[d], 5e-6)
            << texts[k] << ", " << d << ", " << tier;
      }
    }
    // A network for another shape has the same parameters.
    const auto alone = bert->Embed({texts[1]});
    ASSERT_THAT(alone, IsOk());
    EXPECT_EQ(alone->AsString(), rows->AsString().substr(kSize * 4, kSize * 4));
    // Nor do batches, and what pads them, change a bit.
    for (int64_t batch : {1, 2, 5}) {
      EXPECT_EQ(bert->Embed(texts, batch)->AsString(), bits.back());
    }
    EXPECT_EQ(bert->EmbedTokens(bert->pieces().EncodeBatch(texts))->AsString(),
              bits.back());
  }
  for (const std::string& each : bits) EXPECT_TRUE(each == bits[0]);
}

TEST_F(SentenceEncoderTest, FilesThatDoNotFit) {
  const TestDevice host;
  auto error = [&] {
    return std::string(
        SentenceEncoder::Load(folder_, host.context).status().message());
  };
  Write("model.safetensors", Safetensors(weights_, true));  // converted
  EXPECT_EQ(error(), "");
  Weights other = weights_;
  other.erase("encoder.layer.1.output.dense.bias");
  other["embeddings.LayerNorm.weight"].rows = 3;
  other["embeddings.LayerNorm.weight"].cells.resize(3);
  Write("model.safetensors", Safetensors(other, false));
  EXPECT_THAT(error(),
              AllOf(HasSubstr("2 arrays do not fit, and 35 do:"),
                    HasSubstr("`norm_scale`: `embeddings.LayerNorm.weight` is "
                              "f32[3], not f32[6]"),
                    HasSubstr("it has no `encoder.layer.1.output.dense.bias` "
                              "for `encoder_block2_out_b`")));
  Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n");
  EXPECT_THAT(error(), HasSubstr("there is no piece [SEP]"));
  Write("config.json", "{\"vocab_size\": -1}");
  EXPECT_THAT(error(), HasSubstr("no whole number `vocab_size` from 1 to"));
  for (const std::string text : {"[]", "{}", "3"}) {
    Write("config.json", text);
    EXPECT_THAT(error(), HasSubstr("no whole number `vocab_size`")) << text;
  }
  for (const std::string text : {"", "{", "\xff"}) {
    Write("config.json", text);
    EXPECT_THAT(error(), HasSubstr("config.json` is not JSON, or has")) << text;
  }
}

TEST_F(SentenceEncoderTest, ArgumentsThatDoNotFit) {
  const TestDevice host;
  auto bert = SentenceEncoder::Load(folder_, host.context);
  ASSERT_THAT(bert, IsOk());
  EXPECT_EQ(bert->size(), kSize);
  EXPECT_THAT(bert->Embed({}).status().message(), HasSubstr("0 texts"));
  EXPECT_THAT(bert->Embed({"a"}, 0).status().message(),
              HasSubstr("batches of 0; give 1 or more"));
  auto error = [&](const NdArray& ids, const NdArray& mask) {
    return std::string(bert->EmbedTokens({ids, mask}).status().message());
  };
  const NdArray ids = NdArray::Of<int32_t>({1, 2}, {2, 3});
  const NdArray mask = NdArray::Of<float>({1, 2}, {1, 1});
  EXPECT_EQ(error(ids, mask), "");
  EXPECT_THAT(error(ids, mask.Reshaped({2})),
              HasSubstr("mask is f32[2]; give"));
  EXPECT_THAT(error(mask, mask), HasSubstr("ids are f32[1, 2]"));
  EXPECT_THAT(error(ids, ids), HasSubstr("the mask is i32[1, 2]"));
  EXPECT_THAT(
      error(NdArray(DType::kI32, {1, 33}), NdArray(DType::kF32, {1, 33})),
      HasSubstr("a length of at most 32"));
  EXPECT_THAT(error(NdArray::Of<int32_t>({1, 2}, {2, 13}), mask),
              HasSubstr("there is no piece 13; the last one is 12"));
  EXPECT_THAT(error(ids, NdArray::Of<float>({1, 2}, {0, 0})),
              HasSubstr("row 0 of the mask has no 1; give 1 for each token"));
  EXPECT_THAT(error(ids, NdArray::Of<float>({1, 2}, {1, 2})),
              HasSubstr("row 0 of the mask has other cells"));
}

TEST_F(SentenceEncoderTest, LengthOfTheModel) {
  const TestDevice host;
  const std::string file = "sentence_bert_config.json";
  Write(file, "{\"max_seq_length\": 4, \"do_lower_case\": false}");
  auto bert = SentenceEncoder::Load(folder_, host.context);
  ASSERT_THAT(bert, IsOk());
  EXPECT_EQ(bert->max_length(), 4);
  EXPECT_EQ(bert->Embed({"a cat runs."})->AsString(),
            bert->Embed({"a cat"})->AsString());
  Write(file, "{\"max_seq_length\": 64}");
  auto length = [&] {
    return SentenceEncoder::Load(folder_, host.context)->max_length();
  };
  EXPECT_EQ(length(), kPlaces);
  Write("tokenizer_config.json", "{\"model_max_length\": 5}");
  EXPECT_EQ(length(), kPlaces);
  Write(file, "{\"max_seq_length\": null}");
  EXPECT_EQ(length(), 5);
  Write("tokenizer_config.json",
        "{\"model_max_length\": 1000000000000000019884624838656}");
  EXPECT_EQ(length(), kPlaces);
}

TEST_F(SentenceEncoderTest, PartOfALargerNetwork) {
  const TestDevice host;
  auto bits = [&] {
    auto bert = SentenceEncoder::Load(folder_, host.context);
    CHECK_OK(bert);
    return std::string(bert->Embed({"the cat"})->AsString());
  };
  const std::string alone = bits();
  Weights part;
  for (const auto& [name, m] : weights_) part["bert." + name] = m;
  part["cls.predictions.bias"] = {4, 1, {0, 0, 0, 0}};
  Write("model.safetensors", Safetensors(part, false));
  EXPECT_EQ(bits(), alone);
}

TEST(NearestRowsTest, GreatestProductsFirst) {
  const NdArray rows =
      NdArray::Of<float>({4, 2}, {1, 0, 0, 1, 0.6f, 0.8f, 1, 0});
  const NdArray query = NdArray::Of<float>({1, 2}, {2, 1});
  std::vector<int64_t> order;
  for (const auto& [row, score] : NearestRows(rows, query, 9)) {
    order.push_back(row);
    const double x = rows.AsDouble(2 * row), y = rows.AsDouble(2 * row + 1);
    EXPECT_NEAR(score, 2 * x + y, 1e-6);
  }
  EXPECT_THAT(order, testing::ElementsAre(0, 2, 3, 1));
  EXPECT_EQ(NearestRows(rows, query, 2).size(), 2);
}

TEST_F(SentenceEncoderTest, LettersAsTheModelHasThem) {
  const TestDevice host;
  auto ids = [&] {
    auto bert = SentenceEncoder::Load(folder_, host.context);
    CHECK_OK(bert);
    return bert->pieces().Encode("The cat");
  };
  EXPECT_THAT(ids(), testing::ElementsAre(4, 5));
  Write("tokenizer_config.json", "{\"do_lower_case\": false}");
  EXPECT_THAT(ids(), testing::ElementsAre(1, 5));
  Write("tokenizer_config.json",
        "{\"do_lower_case\": true, \"strip_accents\": false}");
  EXPECT_THAT(SentenceEncoder::Load(folder_, host.context).status().message(),
              HasSubstr("has the `strip_accents` false, and only true is"));
}

}  // namespace
}  // namespace ocannl::train
