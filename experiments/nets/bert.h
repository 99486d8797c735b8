// SPDX-License-Identifier: Apache-2.0
//
// Sentences as vectors, by a BERT with mean pooling: Devlin et al., "BERT"
// (2019); Reimers and Gurevych, "Sentence-BERT" (2019).
//
//   OCANNL_ASSIGN_OR_RETURN(auto bert, SentenceBert::Load(folder, context));
//   const std::vector<std::string> texts = {"A cat.", "A dog."};
//   OCANNL_ASSIGN_OR_RETURN(NdArray vectors, bert.Embed(texts));
#ifndef EXPERIMENTS_NETS_BERT_H_
#define EXPERIMENTS_NETS_BERT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/blocks/state.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/data/word_piece.h"
#include "ocannl/train/run/predict.h"

namespace ocannl {

struct BertOptions {
  int64_t vocabulary, positions, size, layers, heads, hidden;
  double epsilon = 1e-12;
  double dropout = 0;
};

// Those of a config.json. Errors name the file: the system's; a number that is
// not there or out of range; another activation, or positions that are not
// absolute.
absl::StatusOr<BertOptions> LoadBertOptions(const std::string& path);

// The vectors, b|size and of length 1, of texts: `ids`, b,t|, of a WordPiece,
// and `mask`, b,t|, which is 1 for a token and 0 for padding.
Tensor SentenceVectors(const train::ParamScope& scope,
                       const BertOptions& options, Tensor ids, Tensor mask,
                       const train::Training* training);

// How the parameters of SentenceVectors are found in a file of PyTorch.
train::RestoreOptions BertFile();

// Moves, but does not copy. Not thread-safe, like its context.
class SentenceBert {
 public:
  // The model of a folder: config.json, vocab.txt, model.safetensors, and
  // whether letters become lower case, if there is a tokenizer_config.json.
  // Errors: those of the files; what does not fit; 1_Pooling/config.json, if it
  // is there, asks for other pooling than by mean.
  static absl::StatusOr<SentenceBert> Load(const std::string& folder,
                                           const Context& context);

  // A row for each text, of length 1. Longer texts than the positions are cut.
  // Texts are padded to a multiple of 16 tokens. Errors: those of Predictor;
  // no texts.
  absl::StatusOr<NdArray> Embed(absl::Span<const std::string> texts);

  const train::WordPiece& pieces() const { return pieces_; }

 private:
  SentenceBert(train::WordPiece pieces, int64_t positions,
               train::PredictorTable nets)
      : pieces_(std::move(pieces)),
        positions_(positions),
        nets_(std::move(nets)) {}

  train::WordPiece pieces_;
  int64_t positions_;
  train::PredictorTable nets_;
};

}  // namespace ocannl

#endif  // EXPERIMENTS_NETS_BERT_H_
