// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/torch_names.h"

#include "gtest/gtest.h"

namespace ocannl {
namespace {

TEST(PyTorchNamesTest, Rules) {
  const auto rename = train::PyTorchNames({{"encoder_block{n}", "layer.{n-1}"},
                                           {"self_norm", "attention.norm"},
                                           {"self", "attention.self"},
                                           {"layer{n}", "{2n-2}"},
                                           {"bert", ""},
                                           {"x{n}", "{m}"}});
  EXPECT_EQ(rename("encoder_block1_self_norm_scale"),
            "layer.0.attention.norm.weight");
  EXPECT_EQ(rename("bert_encoder_block12_self_query_b"),
            "layer.11.attention.self.query.bias");
  EXPECT_EQ(rename("net_layer3_w"), "net.4.weight");
  EXPECT_EQ(rename("norm_running_variance"), "norm.running_var");
  EXPECT_EQ(rename("w_running_mean"), "w.running_mean");
  EXPECT_EQ(rename("x7_w"), "{m}.weight");
  EXPECT_EQ(rename("blocks_w"), "blocks.weight");
  EXPECT_EQ(rename("layer+1_w"), "layer+1.weight");
  EXPECT_EQ(rename("layer9223372036854775807_w"), "{2n-2}.weight");
  EXPECT_EQ(rename("layer99999999999999999999_w"),
            "layer99999999999999999999.weight");
  EXPECT_EQ(rename(""), "");
  EXPECT_EQ(rename("__"), "..");
}

TEST(PyTorchNamesTest, Bert) {
  const auto rename = train::PyTorchNames(train::BertRules());
  EXPECT_EQ(rename("word_table"), "embeddings.word_embeddings.weight");
  EXPECT_EQ(rename("norm_shift"), "embeddings.LayerNorm.bias");
  EXPECT_EQ(rename("encoder_block6_self_query_w"),
            "encoder.layer.5.attention.self.query.weight");
  EXPECT_EQ(rename("encoder_block1_self_out_b"),
            "encoder.layer.0.attention.output.dense.bias");
  EXPECT_EQ(rename("encoder_block1_self_norm_scale"),
            "encoder.layer.0.attention.output.LayerNorm.weight");
  EXPECT_EQ(rename("encoder_block1_in_w"),
            "encoder.layer.0.intermediate.dense.weight");
  EXPECT_EQ(rename("encoder_block1_out_w"),
            "encoder.layer.0.output.dense.weight");
  EXPECT_EQ(rename("encoder_block1_mlp_norm_scale"),
            "encoder.layer.0.output.LayerNorm.weight");
}

}  // namespace
}  // namespace ocannl
