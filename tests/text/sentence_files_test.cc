// SPDX-License-Identifier: Apache-2.0
//
// Folders of models that are not a BERT as SentenceEncoder has it. 0.3 seconds.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/train/text/sentence_encoder.h"
#include "tests/support/test_device.h"

namespace ocannl::train {
namespace {

using testing::HasSubstr;

// A config.json, of which a later value of a key would replace an earlier one.
const std::string kConfig =
    "{\"vocab_size\": 4, \"max_position_embeddings\": 8, \"hidden_size\": 6, "
    "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
    "\"intermediate_size\": 8, ";

// A folder that a test writes; models that fit lack only their weights.
class SentenceFilesTest : public testing::Test {
 protected:
  SentenceFilesTest() {
    CHECK_OK(MakeDirectory(folder_ + "/1_Pooling"));
    Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n");
  }
  void Write(const std::string& name, const std::string& bytes) {
    CHECK_OK(WriteFile(absl::StrCat(folder_, "/", name), bytes));
  }
  // Of a config.json where `more` is last: it replaces an earlier value.
  std::string ErrorOf(const std::string& more = "\"x\": 0") {
    Write("config.json", kConfig + more + "}");
    return std::string(
        SentenceEncoder::Load(folder_, host_.context).status().message());
  }

  // Of this test only.
  std::string folder_ =
      testing::TempDir() + "/files_" +
      testing::UnitTest::GetInstance()->current_test_info()->name();
  TestDevice host_;
};

TEST_F(SentenceFilesTest, Configurations) {
  EXPECT_THAT(ErrorOf("\"hidden_act\": \"gelu\", \"model_type\": \"bert\""),
              HasSubstr("model.safetensors"));
  EXPECT_THAT(ErrorOf("\"hidden_act\": \"relu\""),
              HasSubstr("has the `hidden_act` \"relu\", and only \"gelu\" is"));
  EXPECT_THAT(
      ErrorOf("\"position_embedding_type\": \"relative_key\""),
      HasSubstr("`position_embedding_type` \"relative_key\", and only"));
  EXPECT_THAT(ErrorOf("\"max_position_embeddings\": 1"),
              HasSubstr("`max_position_embeddings` from 2"));
  EXPECT_THAT(ErrorOf("\"num_hidden_layers\": 16777216"),
              HasSubstr("`num_hidden_layers` from 1 to 1024"));
  EXPECT_THAT(ErrorOf("\"num_attention_heads\": 7"),
              HasSubstr("hidden_size of 6, which 7 num_attention_heads"));
  EXPECT_THAT(
      ErrorOf("\"model_type\": \"distilbert\", \"hidden_size\": null"),
      HasSubstr("has the `model_type` \"distilbert\", and only \"bert\""));
  EXPECT_THAT(ErrorOf("\"is_decoder\": true"), HasSubstr("`is_decoder` true"));
  EXPECT_THAT(ErrorOf("\"type_vocab_size\": 1"),
              HasSubstr("`type_vocab_size` 1, and only 2 is"));
  const std::string deep(1'000'000, '[');
  EXPECT_THAT(ErrorOf("\"hidden_act\": " + deep + std::string(1'000'000, ']')),
              HasSubstr("more than 64 deep; give"));
  EXPECT_THAT(ErrorOf("\"x\": \"" + deep + "\\\"[\""),
              HasSubstr("model.safetensors"));
  for (const std::string epsilon : {"0", "-1", "\"1\""}) {
    EXPECT_THAT(ErrorOf("\"layer_norm_eps\": " + epsilon),
                HasSubstr("no number `layer_norm_eps` above 0"));
  }
}

TEST_F(SentenceFilesTest, Poolings) {
  Write("1_Pooling/config.json", "{\"pooling_mode_mean_tokens\": false}");
  EXPECT_THAT(ErrorOf(), HasSubstr("`pooling_mode_mean_tokens`"));
  Write("1_Pooling/config.json",
        "{\"pooling_mode_mean_tokens\": true, "
        "\"pooling_mode_max_tokens\": true}");
  EXPECT_THAT(ErrorOf(), HasSubstr("`pooling_mode_max_tokens`"));
  Write("1_Pooling/config.json", "{\"word_embedding_dimension\": 7}");
  EXPECT_THAT(ErrorOf(), HasSubstr("`word_embedding_dimension` 7, and only 6"));
  Write("1_Pooling/config.json", "{\"pooling_mode\": \"cls\"}");
  EXPECT_THAT(ErrorOf(),
              HasSubstr("`pooling_mode` \"cls\", and only \"mean\""));
  Write("1_Pooling/config.json", "[]");
  EXPECT_THAT(ErrorOf(), HasSubstr("is not a JSON object"));
  Write("1_Pooling/config.json", "{\"pooling_mode_mean_tokens\": true}");
  EXPECT_THAT(ErrorOf(), HasSubstr("model.safetensors"));
}

TEST_F(SentenceFilesTest, ModulesAndLengths) {
  Write("modules.json",
        "[{\"type\": \"sentence_transformers.models.Transformer\"}, "
        "{\"type\": \"sentence_transformers.models.Dense\"}]");
  EXPECT_THAT(ErrorOf(), HasSubstr("models.Dense\", and only Trans"));
  for (const std::string text : {"[1, 2]", "[{}, {}]"}) {
    Write("modules.json", text);
    EXPECT_THAT(ErrorOf(), HasSubstr("has a module of the `type`"));
  }
  for (const std::string text : {"null", "[]", "{\"type\": 1}", "[1]"}) {
    Write("modules.json", text);
    EXPECT_THAT(ErrorOf(), HasSubstr("is no list of a Transformer and a"));
  }
  Write("modules.json",
        "[{\"type\": \"x.Transformer\", \"path\": \"\"}, "
        "{\"type\": \"x.Pooling\", \"path\": \"2_Pooling\"}]");
  EXPECT_THAT(ErrorOf(), HasSubstr("`path` \"2_Pooling\", and only"));
  Write("modules.json", "{");
  EXPECT_THAT(ErrorOf(), HasSubstr("modules.json` is not JSON"));
  Write("modules.json",
        "[{\"type\": \"sentence_transformers.models.Transformer\"}, "
        "{\"type\": \"sentence_transformers.models.Pooling\"}]");
  for (const std::string key :
       {"\"do_lower_case\": 0", "\"tokenize_chinese_chars\": false",
        "\"do_basic_tokenize\": false",
        "\"tokenizer_class\": \"BertJapaneseTokenizer\""}) {
    Write("tokenizer_config.json", "{" + key + "}");
    EXPECT_THAT(ErrorOf(), HasSubstr("tokenizer_config.json` has the `"));
  }
  Write("tokenizer_config.json",
        "{\"tokenizer_class\": \"BertTokenizerFast\"}");
  Write("sentence_bert_config.json", "{\"do_lower_case\": true}");
  EXPECT_THAT(ErrorOf(), HasSubstr("`do_lower_case` true, and only"));
  for (const std::string length : {"1", "-3", "\"9\"", "2.5"}) {
    Write("sentence_bert_config.json", "{\"max_seq_length\": " + length + "}");
    EXPECT_THAT(ErrorOf(),
                HasSubstr("`max_seq_length` " + length + "; give a whole"));
  }
  Write("sentence_bert_config.json", "{\"max_seq_length\": 9}");
  Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n");
  EXPECT_THAT(
      ErrorOf(),
      HasSubstr("has 5 pieces, and the `vocab_size` of config.json is 4"));
}

}  // namespace
}  // namespace ocannl::train
