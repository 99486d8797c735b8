// SPDX-License-Identifier: Apache-2.0
//
// BERT: Devlin et al., "BERT" (2019), by the config.json and the parameter
// names of a BertModel of Hugging Face.
//
//   OCANNL_ASSIGN_OR_RETURN(const auto options,
//                           train::LoadBertOptions("bert/config.json"));
//   Tensor x = train::Bert({&model.graph, ""}, options, ids, mask, &training);
//   OCANNL_ASSIGN_OR_RETURN(const auto file,
//                           train::BertFile("bert/model.safetensors"));
//   OCANNL_RETURN_IF_ERROR(train::RestoreParams("bert/model.safetensors",
//   model,
//                                               x, step.context(), file));
#ifndef OCANNL_TRAIN_TEXT_BERT_H_
#define OCANNL_TRAIN_TEXT_BERT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/blocks/state.h"
#include "ocannl/train/checkpoint/checkpoint.h"

namespace ocannl::train {

struct BertOptions {
  int64_t vocabulary, positions, size, layers, heads, hidden;
  double epsilon = 1e-12;
  double dropout = 0;
};

// The options of a config.json, without dropout. Errors name the file: the
// system's; a number that is not there or out of range; another model type or
// activation than BERT's gelu; positions that are not absolute.
absl::StatusOr<BertOptions> LoadBertOptions(const std::string& path);

// The last hidden states, b,t|size. `ids`, b,t|, are those of a WordPiece; a
// cell of `mask`, b,t|, is 1 for a token and 0 for padding. All tokens are of
// type 0. The pooler is left out. `training` decides whether cells are dropped;
// null: none are.
Tensor Bert(const ParamScope& scope, const BertOptions& options, Tensor ids,
            Tensor mask, const Training* training);

// How the parameters of Bert, in the scope "", are found in a file of PyTorch:
// a BertModel's, or a network's whose BertModel is called `bert`. Errors: those
// of ListArrays.
absl::StatusOr<RestoreOptions> BertFile(const std::string& path);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_TEXT_BERT_H_
