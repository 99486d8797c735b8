// SPDX-License-Identifier: Apache-2.0
//
// Blocks of transformers, and a language model of them. Sequences have shape
// ...,length|size.
//
// What a part of a block computes, f, is added to what the part is given:
//   pre_norm    x + dropout(f(norm(x)))     Radford et al., GPT-2 (2019)
//   otherwise   norm(x + dropout(f(x)))     Vaswani et al. (2017)
#ifndef OCANNL_TRAIN_BLOCKS_TRANSFORMER_H_
#define OCANNL_TRAIN_BLOCKS_TRANSFORMER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/attention.h"
#include "ocannl/train/blocks/embedding.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/norm.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/blocks/state.h"

namespace ocannl::train {

struct TransformerOptions {
  int64_t size;    // cells of the vector of a place
  int64_t heads;   // each has size / heads of them, a whole number
  int64_t hidden;  // of the perceptron
  bool pre_norm = true;
  double dropout = 0;                       // in [0, 1)
  std::optional<int64_t> rope_length = {};  // as in AttentionOptions
};

// Attention to the sequence itself, then a perceptron with gelu. Parameters:
// self_..., self_norm_..., in_..., out_..., mlp_norm_...
class EncoderBlock {
 public:
  EncoderBlock(const ParamScope& scope, const TransformerOptions& options,
               SourceLocation where = SourceLocation::Current());

  // With a causal mask, this is the block of a decoder without an encoder.
  Tensor operator()(Tensor x, std::optional<Tensor> mask,
                    const Training* training,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  friend class DecoderBlock;
  Tensor SelfAttention(Tensor x, std::optional<Tensor> mask,
                       const Training* training) const;
  Tensor Perceptron(Tensor x, const Training* training) const;

  TransformerOptions options_;
  MultiHeadAttention self_;
  LayerNorm self_norm_;
  Linear in_, out_;
  LayerNorm mlp_norm_;
};

// The same with attention to a memory, which an encoder made, between its
// parts. Parameters: those of EncoderBlock, cross_..., cross_norm_...
class DecoderBlock {
 public:
  DecoderBlock(const ParamScope& scope, const TransformerOptions& options,
               SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor x, Tensor memory, std::optional<Tensor> mask,
                    const Training* training,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  EncoderBlock block_;
  MultiHeadAttention cross_;
  LayerNorm cross_norm_;
};

struct DecoderOnlyOptions {
  int64_t vocabulary;
  int64_t length;  // of the sequences
  int64_t layers;
  TransformerOptions block;
};

// A language model: logits of the next token at each place of ...,length|
// tokens, from the tokens up to there. Embeddings of tokens, which also give
// the logits, and of positions, unless rope turns by those; blocks; a norm if
// they have theirs before. Parameters: token_table, position_table,
// block1_..., norm_...
class DecoderOnly {
 public:
  DecoderOnly(const ParamScope& scope, const DecoderOnlyOptions& options,
              SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor tokens, const Training* training,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  DecoderOnlyOptions options_;
  Embedding tokens_;
  std::optional<Tensor> positions_;
  std::vector<EncoderBlock> blocks_;
  std::optional<LayerNorm> norm_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_TRANSFORMER_H_
