// SPDX-License-Identifier: Apache-2.0
//
// Blocks of transformers, a language model of them, and the whole transformer.
// Sequences have shape ...,length|size. What `Step` does is told at Decoding
// (attention.h).
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
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/attention.h"
#include "ocannl/train/blocks/embedding.h"
#include "ocannl/train/blocks/init.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/loss.h"
#include "ocannl/train/blocks/norm.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/blocks/state.h"

namespace ocannl::train {

// First values of parameters, but those of norms. By default those of the code
// of Vaswani et al. for matrices, biases of 0, and GPT-2's for tables.
struct TransformerInit {
  // Of queries, keys and values, and of what the heads found.
  LayerInit attention = XavierUniform(1), attention_out = XavierUniform(1);
  LayerInit in = XavierUniform(1), out = XavierUniform(1);  // the perceptron
  Initializer tokens = NormalInit(0.02), positions = NormalInit(0.02);
};

// GPT-2's: normal of standard deviation 0.02, but 0.02 / sqrt(2 layers) for the
// two matrices of a block whose result is added to what it was given.
TransformerInit Gpt2Init(int64_t layers);

// What PyTorch's nn.Transformer and nn.Embedding begin with.
TransformerInit TorchTransformerInit();

struct TransformerOptions {
  int64_t size;    // cells of the vector of a place
  int64_t heads;   // each has size / heads of them, a whole number
  int64_t hidden;  // of the perceptron
  bool pre_norm = true;
  double dropout = 0;                       // in [0, 1)
  std::optional<int64_t> rope_length = {};  // as in AttentionOptions
  double temperature = 1;                   // likewise
  TransformerInit init = {};
  double norm_epsilon = kNormEpsilon;  // of all norms; BERT has 1e-12
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

  // One place, ...|size, with a causal mask.
  Tensor Step(Tensor x, Decoding& decoding,
              SourceLocation where = SourceLocation::Current()) const;

 private:
  friend class DecoderBlock;
  Tensor SelfAttention(Tensor x, std::optional<Tensor> mask,
                       const Training* training) const;
  Tensor SelfStep(Tensor x, Decoding& decoding) const;
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

  Tensor Step(Tensor x, Tensor memory, Decoding& decoding,
              SourceLocation where = SourceLocation::Current()) const;

 private:
  EncoderBlock block_;
  MultiHeadAttention cross_;
  LayerNorm cross_norm_;
};

// Blocks one after the other, and a norm if they have theirs before.
// Parameters: block1_..., norm_...
template <class Block>
class BlockStack {
 public:
  BlockStack(const ParamScope& scope, int64_t layers,
             const TransformerOptions& options, SourceLocation where);

 protected:
  // What `block` makes of each block and of what the one before made.
  Tensor Through(Tensor x,
                 absl::FunctionRef<Tensor(const Block&, Tensor)> block) const;

 private:
  std::vector<Block> blocks_;
  std::optional<LayerNorm> norm_;
};

// With a causal mask, these are the layers of a decoder without an encoder.
class Encoder : public BlockStack<EncoderBlock> {
 public:
  Encoder(const ParamScope& scope, int64_t layers,
          const TransformerOptions& options,
          SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor x, std::optional<Tensor> mask,
                    const Training* training,
                    SourceLocation where = SourceLocation::Current()) const;

  Tensor Step(Tensor x, Decoding& decoding,
              SourceLocation where = SourceLocation::Current()) const;
};

class Decoder : public BlockStack<DecoderBlock> {
 public:
  Decoder(const ParamScope& scope, int64_t layers,
          const TransformerOptions& options,
          SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor x, Tensor memory, std::optional<Tensor> mask,
                    const Training* training,
                    SourceLocation where = SourceLocation::Current()) const;

  Tensor Step(Tensor x, Tensor memory, Decoding& decoding,
              SourceLocation where = SourceLocation::Current()) const;
};

// Tokens as vectors: embeddings of the tokens, which also give the logits, and
// of positions, unless rope turns by those. Parameters: token_table,
// position_table.
class TokenVectors {
 public:
  TokenVectors(const ParamScope& scope, int64_t vocabulary, int64_t length,
               const TransformerOptions& options,
               SourceLocation where = SourceLocation::Current());

  // ...,length| gives ...,length|size.
  Tensor operator()(Tensor tokens, const Training* training) const;
  // ...| gives ...|size, at the position of the decoding.
  Tensor Step(Tensor tokens, const Decoding& decoding) const;
  // ...|size gives ...|vocabulary.
  Tensor Logits(Tensor x) const;

 private:
  double dropout_;
  Embedding tokens_;
  std::optional<Tensor> positions_;
};

struct DecoderOnlyOptions {
  int64_t vocabulary;
  int64_t length;  // of the sequences
  int64_t layers;
  TransformerOptions block;
};

// A language model: logits of the next token at each place of ...,length|
// tokens, from the tokens up to there. Parameters: those of TokenVectors and
// of Encoder.
class DecoderOnly {
 public:
  DecoderOnly(const ParamScope& scope, const DecoderOnlyOptions& options,
              SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor tokens, const Training* training,
                    SourceLocation where = SourceLocation::Current()) const;

  // The logits of the token after `token`, ...|, which is at the position.
  Tensor Step(Tensor token, Decoding& decoding,
              SourceLocation where = SourceLocation::Current()) const;

 private:
  int64_t length_;
  TokenVectors tokens_;
  Encoder layers_;
};

// Without the lengths for rope, which are those here.
struct EncoderDecoderOptions {
  int64_t source_vocabulary, target_vocabulary;
  int64_t source_length, target_length;
  int64_t encoder_layers, decoder_layers;
  TransformerOptions block;
};

// The whole transformer of Vaswani et al.: logits of the next token at each
// place of ...,target_length| tokens, from those up to there and from all of
// ...,source_length|. Parameters: source_..., encoder_..., target_...,
// decoder_...
class Transformer {
 public:
  Transformer(const ParamScope& scope, const EncoderDecoderOptions& options,
              SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor source, Tensor target, const Training* training,
                    SourceLocation where = SourceLocation::Current()) const;

  // The cross-entropy of those logits, where `next`, of the shape of `target`,
  // are the tokens to come.
  Tensor Loss(Tensor source, Tensor target, Tensor next,
              const CrossEntropyOptions& options, const Training* training,
              SourceLocation where = SourceLocation::Current()) const;

  // What the encoder makes of the source: ...,source_length|size.
  Tensor Memory(Tensor source, const Training* training,
                SourceLocation where = SourceLocation::Current()) const;

  // The logits of the token after `token`, ...|, which is at the position.
  Tensor Step(Tensor token, Tensor memory, Decoding& decoding,
              SourceLocation where = SourceLocation::Current()) const;

 private:
  int64_t target_length_, target_vocabulary_;
  TokenVectors source_, target_;
  Encoder encoder_;
  Decoder decoder_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_TRANSFORMER_H_
