// SPDX-License-Identifier: Apache-2.0
//
// Folders of models that are not a BERT as SentenceBert has it.
#include <string>

#include "absl/strings/str_cat.h"
#include "experiments/nets/bert.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::HasSubstr;

// A config.json, of which a later value of a key would replace an earlier one.
const std::string kConfig =
    "{\"vocab_size\": 4, \"max_position_embeddings\": 8, \"hidden_size\": 6, "
    "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
    "\"intermediate_size\": 8, ";

// Models that fit lack only their weights.
TEST(BertFilesTest, ModelsThatAreNotSuchABert) {
  const TestDevice host;
  const std::string folder = testing::TempDir() + "/bert_files";
  auto write = [&](const std::string& name, const std::string& bytes) {
    CHECK_OK(WriteFile(absl::StrCat(folder, "/", name), bytes));
  };
  CHECK_OK(MakeDirectory(folder));
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n");
  // Of a config.json where `more` is last: it replaces an earlier value.
  auto error = [&](const std::string& more) {
    write("config.json", kConfig + more + "}");
    return std::string(
        SentenceBert::Load(folder, host.context).status().message());
  };
  EXPECT_THAT(error("\"hidden_act\": \"gelu\", \"model_type\": \"bert\""),
              HasSubstr("model.safetensors"));
  EXPECT_THAT(error("\"hidden_act\": \"relu\""),
              HasSubstr("another `hidden_act` than \"gelu\""));
  EXPECT_THAT(error("\"position_embedding_type\": \"relative_key\""),
              HasSubstr("another `position_embedding_type`"));
  EXPECT_THAT(error("\"max_position_embeddings\": 1"),
              HasSubstr("`max_position_embeddings` from 2"));
  EXPECT_THAT(error("\"num_hidden_layers\": 16777216"),
              HasSubstr("`num_hidden_layers` from 1 to 1024"));
  EXPECT_THAT(error("\"num_attention_heads\": 7"),
              HasSubstr("hidden_size of 6, which 7 num_attention_heads"));
  for (const std::string epsilon : {"0", "-1", "\"1\""}) {
    EXPECT_THAT(error("\"layer_norm_eps\": " + epsilon),
                HasSubstr("no number `layer_norm_eps` above 0"));
  }
  CHECK_OK(MakeDirectory(folder + "/1_Pooling"));
  write("1_Pooling/config.json", "{\"pooling_mode_mean_tokens\": false}");
  EXPECT_THAT(error("\"x\": 0"), HasSubstr("`pooling_mode_mean_tokens`"));
  write("1_Pooling/config.json",
        "{\"pooling_mode_mean_tokens\": true, "
        "\"pooling_mode_max_tokens\": true}");
  EXPECT_THAT(error("\"x\": 0"), HasSubstr("`pooling_mode_max_tokens`"));
  write("1_Pooling/config.json", "{");
  EXPECT_THAT(error("\"x\": 0"), HasSubstr("is not a JSON object"));
  write("1_Pooling/config.json", "{\"pooling_mode_mean_tokens\": true}");
  EXPECT_THAT(error("\"x\": 0"), HasSubstr("model.safetensors"));
}

}  // namespace
}  // namespace ocannl
