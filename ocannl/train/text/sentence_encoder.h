// SPDX-License-Identifier: Apache-2.0
//
// SentenceEncoder: sentences as vectors, by a BERT with mean pooling, from a
// folder of sentence-transformers. Reimers and Gurevych, "Sentence-BERT"
// (2019).
//
//   Device device("host", *FindTier("auto"));
//   Stream stream(&device);
//   OCANNL_ASSIGN_OR_RETURN(
//       auto encoder,
//       train::SentenceEncoder::Load("all-MiniLM-L6-v2", Context(&stream)));
//   const std::vector<std::string> texts = {"A cat.", "A dog."};
//   OCANNL_ASSIGN_OR_RETURN(NdArray vectors, encoder.Embed(texts));
//
//   OCANNL_ASSIGN_OR_RETURN(NdArray query, encoder.Embed({"A puppy."}));
//   for (const auto& [row, score] : train::NearestRows(vectors, query, 5)) {
//     std::cout << score << " " << texts[row] << "\n";
//   }
//
// Then `vectors` is f32 [2, 384].
#ifndef OCANNL_TRAIN_TEXT_SENTENCE_ENCODER_H_
#define OCANNL_TRAIN_TEXT_SENTENCE_ENCODER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/data/word_piece.h"
#include "ocannl/train/run/predict.h"
#include "ocannl/train/text/bert.h"

namespace ocannl::train {

// The mean, b|d, of the vectors `x`, b,t|d, whose cell of `mask`, b,t|, is 1,
// divided by its Euclidean length.
Tensor MeanDirection(Tensor x, Tensor mask);

struct Neighbour {
  int64_t row;
  float score;  // the inner product: of rows of length 1, the cosine
};

// The rows of `rows`, f32 [n, d], with the greatest inner products with
// `query`, f32 [d] or [1, d]: `most` of them or all, the greatest first.
// Products are summed from the left. It is the caller's fault if the sizes
// differ.
std::vector<Neighbour> NearestRows(const NdArray& rows, const NdArray& query,
                                   int64_t most);

// Moves, but does not copy. Not thread-safe, like its context.
class SentenceEncoder {
 public:
  // Reads these files of the folder, of which the last four may be missing:
  //
  //   config.json                the sizes of a BertModel
  //   vocab.txt                  the pieces of words
  //   model.safetensors          the parameters; floats become f32
  //   tokenizer_config.json      whether letters become lower case: else yes
  //   modules.json               Transformer, Pooling, Normalize; no others
  //   1_Pooling/config.json      pooling by the mean of all tokens; no other
  //   sentence_bert_config.json  the greatest length in tokens, else that of
  //                              tokenizer_config.json or of the positions
  //
  // Vectors have length 1 whether modules.json has Normalize or not.
  // The parameters are written to `context`. Errors name the file and the key
  // or array, and say what is supported.
  static absl::StatusOr<SentenceEncoder> Load(const std::string& folder,
                                              const Context& context);

  // A row for each text, f32 [texts, size], of length 1. Longer texts than
  // max_length() are cut. Texts of similar lengths make batches of up to
  // `batch`, each padded to a multiple of 16 tokens. The network is compiled
  // once for each size of a batch. Those of one `batch` and all lengths are
  // kept. Errors: those of Predictor; no texts; a batch below 1.
  absl::StatusOr<NdArray> Embed(absl::Span<const std::string> texts,
                                int64_t batch = 32);

  // The same for one batch of the tokens of pieces(), of any length up to the
  // positions of the model. Errors: those of Predictor; arrays of other dtypes
  // or dims; an id that is no piece; too many tokens; a mask with other cells
  // than 0 and 1, or a row without 1.
  absl::StatusOr<NdArray> EmbedTokens(const TokenBatch& tokens);

  const WordPiece& pieces() const { return pieces_; }
  int64_t size() const { return options_.size; }      // of a vector
  int64_t max_length() const { return max_length_; }  // tokens of a text

 private:
  SentenceEncoder(WordPiece pieces, const BertOptions& options,
                  int64_t max_length, PredictorTable nets)
      : pieces_(std::move(pieces)),
        options_(options),
        max_length_(max_length),
        nets_(std::move(nets)) {}

  WordPiece pieces_;
  BertOptions options_;
  int64_t max_length_;
  PredictorTable nets_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_TEXT_SENTENCE_ENCODER_H_
