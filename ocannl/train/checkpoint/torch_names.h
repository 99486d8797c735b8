// SPDX-License-Identifier: Apache-2.0
//
// PyTorchNames: what the parameters of a network are called in a file of
// PyTorch, by a few rules.
//
//   const RestoreOptions options = {
//       .rename = train::PyTorchNames({{"encoder_block{n}", "layer.{n-1}"},
//                                      {"self_norm", "attention.norm"}})};
//
// Then encoder_block1_self_norm_scale is layer.0.attention.norm.weight, and
// encoder_block2_in_b is layer.1.in.bias.
//
// A name is read from the left. Where a rule matches whole parts of it, which
// `_` separates, they become its text; the first such rule counts. Other parts
// stay as they are, and `.` separates the parts. Last parts have PyTorch's
// words: w, scale and table are weight, b and shift are bias, and
// running_variance is running_var.
#ifndef OCANNL_TRAIN_CHECKPOINT_TORCH_NAMES_H_
#define OCANNL_TRAIN_CHECKPOINT_TORCH_NAMES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ocannl::train {

struct NameRule {
  // Parts of our name. One of them may have {n}, a whole number.
  std::string ours;
  // {n} is the number, {n-1} and {n+1} those beside it, {2n-2} twice the one
  // before. Empty: the parts are left out.
  std::string theirs;
};

// For RestoreOptions::rename. What a rule asks for and no number gives, such as
// {m}, stays in the name, for which the file has no array.
std::function<std::string(absl::string_view name)> PyTorchNames(
    std::vector<NameRule> rules = {});

// Those of a BertModel of Hugging Face, for Embeddings `word`, `position` and
// `type`, a LayerNorm `norm` of their sum, and an Encoder `encoder` with its
// norms behind.
std::vector<NameRule> BertRules();

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_CHECKPOINT_TORCH_NAMES_H_
