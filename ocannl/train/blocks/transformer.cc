// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/transformer.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ocannl/core/tensor/indexing.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/call.h"
#include "ocannl/train/blocks/state.h"

namespace ocannl::train {
namespace {

AttentionOptions AttentionOf(const TransformerOptions& options) {
  return {.size = options.size,
          .heads = options.heads,
          .key_size = options.size / options.heads,
          .dropout = options.dropout,
          .rope_length = options.rope_length,
          .temperature = options.temperature,
          .init = options.init.attention,
          .out_init = options.init.attention_out};
}

// An encoder's sequence may have another length.
AttentionOptions CrossAttentionOf(const TransformerOptions& options) {
  AttentionOptions attention = AttentionOf(options);
  attention.rope_length = std::nullopt;
  return attention;
}

// With the length of its sequences, if rope turns by positions.
TransformerOptions OfLength(TransformerOptions options, int64_t length) {
  if (options.rope_length) options.rope_length = length;
  return options;
}

// `x` and what `f` makes of it, as the options say.
Tensor Part(const TransformerOptions& options, const LayerNorm& norm, Tensor x,
            const Training* training, absl::FunctionRef<Tensor(Tensor)> f) {
  Tensor change = f(options.pre_norm ? norm(x) : x);
  Tensor sum = x + Dropout(change, options.dropout, training);
  return options.pre_norm ? sum : norm(sum);
}

}  // namespace

TransformerInit Gpt2Init(int64_t layers) {
  const LayerInit plain = NormalInit(0.02);
  const LayerInit residual =
      NormalInit(0.02 / std::sqrt(2 * static_cast<double>(layers)));
  return {.attention = plain,
          .attention_out = residual,
          .in = plain,
          .out = residual};
}

TransformerInit TorchTransformerInit() {
  const LayerInit perceptron = {XavierUniform(1), TorchBias()};
  // It keeps the matrices of queries, keys and values as one.
  return {.attention = XavierUniform(3),
          .in = perceptron,
          .out = perceptron,
          .tokens = NormalInit(1),
          .positions = NormalInit(1)};
}

EncoderBlock::EncoderBlock(const ParamScope& scope,
                           const TransformerOptions& options,
                           SourceLocation where)
    : options_(options),
      self_(scope / "self", AttentionOf(options), where),
      self_norm_(scope / "self_norm", options.norm_epsilon, where),
      in_(scope / "in",
          {.outputs = Dims{options.hidden}, .init = options.init.in}, where),
      out_(scope / "out",
           {.outputs = Dims{options.size}, .init = options.init.out}, where),
      mlp_norm_(scope / "mlp_norm", options.norm_epsilon, where) {}

Tensor EncoderBlock::SelfAttention(Tensor x, std::optional<Tensor> mask,
                                   const Training* training) const {
  return Part(options_, self_norm_, x, training, [&](Tensor given) {
    return self_(given, given, mask, training);
  });
}

Tensor EncoderBlock::Perceptron(Tensor x, const Training* training) const {
  return Part(options_, mlp_norm_, x, training,
              [&](Tensor given) { return out_(Gelu(in_(given))); });
}

Tensor EncoderBlock::operator()(Tensor x, std::optional<Tensor> mask,
                                const Training* training,
                                SourceLocation where) const {
  CallScope call("EncoderBlock", "", {x}, where);
  return call.Of(Perceptron(SelfAttention(x, mask, training), training));
}

Tensor EncoderBlock::SelfStep(Tensor x, Decoding& decoding) const {
  return Part(options_, self_norm_, x, kInference,
              [&](Tensor given) { return self_.Step(given, decoding); });
}

Tensor EncoderBlock::Step(Tensor x, Decoding& decoding,
                          SourceLocation where) const {
  CallScope call("EncoderBlock", "", {x}, where);
  return call.Of(Perceptron(SelfStep(x, decoding), kInference));
}

DecoderBlock::DecoderBlock(const ParamScope& scope,
                           const TransformerOptions& options,
                           SourceLocation where)
    : block_(scope, options, where),
      cross_(scope / "cross", CrossAttentionOf(options), where),
      cross_norm_(scope / "cross_norm", options.norm_epsilon, where) {}

Tensor DecoderBlock::operator()(Tensor x, Tensor memory,
                                std::optional<Tensor> mask,
                                const Training* training,
                                SourceLocation where) const {
  CallScope call("DecoderBlock", "", {x, memory}, where);
  x = block_.SelfAttention(x, mask, training);
  x = Part(block_.options_, cross_norm_, x, training, [&](Tensor given) {
    return cross_(given, memory, std::nullopt, training);
  });
  return call.Of(block_.Perceptron(x, training));
}

Tensor DecoderBlock::Step(Tensor x, Tensor memory, Decoding& decoding,
                          SourceLocation where) const {
  CallScope call("DecoderBlock", "", {x, memory}, where);
  x = block_.SelfStep(x, decoding);
  x = Part(block_.options_, cross_norm_, x, kInference,
           [&](Tensor given) { return cross_.Step(given, memory, decoding); });
  return call.Of(block_.Perceptron(x, kInference));
}

template <class Block>
BlockStack<Block>::BlockStack(const ParamScope& scope, int64_t layers,
                              const TransformerOptions& options,
                              SourceLocation where) {
  for (int64_t k = 1; k <= layers; ++k) {
    blocks_.emplace_back(scope / absl::StrCat("block", k), options, where);
  }
  if (!options.pre_norm) return;
  norm_.emplace(scope / "norm", options.norm_epsilon, where);
}

template <class Block>
Tensor BlockStack<Block>::Through(
    Tensor x, absl::FunctionRef<Tensor(const Block&, Tensor)> block) const {
  for (const Block& each : blocks_) x = block(each, x);
  return norm_ ? (*norm_)(x) : x;
}

Encoder::Encoder(const ParamScope& scope, int64_t layers,
                 const TransformerOptions& options, SourceLocation where)
    : BlockStack(scope, layers, options, where) {}

Tensor Encoder::operator()(Tensor x, std::optional<Tensor> mask,
                           const Training* training,
                           SourceLocation where) const {
  CallScope call("Encoder", "", {x}, where);
  return call.Of(Through(x, [&](const EncoderBlock& block, Tensor given) {
    return block(given, mask, training);
  }));
}

Tensor Encoder::Step(Tensor x, Decoding& decoding, SourceLocation where) const {
  CallScope call("Encoder", "", {x}, where);
  return call.Of(Through(x, [&](const EncoderBlock& block, Tensor given) {
    return block.Step(given, decoding);
  }));
}

Decoder::Decoder(const ParamScope& scope, int64_t layers,
                 const TransformerOptions& options, SourceLocation where)
    : BlockStack(scope, layers, options, where) {}

Tensor Decoder::operator()(Tensor x, Tensor memory, std::optional<Tensor> mask,
                           const Training* training,
                           SourceLocation where) const {
  CallScope call("Decoder", "", {x, memory}, where);
  return call.Of(Through(x, [&](const DecoderBlock& block, Tensor given) {
    return block(given, memory, mask, training);
  }));
}

Tensor Decoder::Step(Tensor x, Tensor memory, Decoding& decoding,
                     SourceLocation where) const {
  CallScope call("Decoder", "", {x, memory}, where);
  return call.Of(Through(x, [&](const DecoderBlock& block, Tensor given) {
    return block.Step(given, memory, decoding);
  }));
}

TokenVectors::TokenVectors(const ParamScope& scope, int64_t vocabulary,
                           int64_t length, const TransformerOptions& options,
                           SourceLocation where)
    : dropout_(options.dropout),
      tokens_(scope / "token",
              {.count = vocabulary,
               .size = options.size,
               .init = options.init.tokens},
              where) {
  if (options.rope_length) return;
  positions_ = MakeParam(scope, "position_table", Dims{options.size},
                         Dims{length}, options.init.positions, where);
}

Tensor TokenVectors::operator()(Tensor tokens, const Training* training) const {
  Tensor x = tokens_(tokens);
  if (positions_) x = x + Einsum1("s->d => s|d", *positions_);
  return Dropout(x, dropout_, training);
}

Tensor TokenVectors::Step(Tensor tokens, const Decoding& decoding) const {
  Tensor x = tokens_(tokens);
  if (!positions_) return x;
  Tensor here = Convert(EmbedSymbol(*x.graph, decoding.position), DType::kI32);
  return x + Gather("s->d; | => |d", *positions_, here);
}

Tensor TokenVectors::Logits(Tensor x) const {
  return Einsum("...|d; v->d => ...|v", x, tokens_.table());
}

DecoderOnly::DecoderOnly(const ParamScope& scope,
                         const DecoderOnlyOptions& options,
                         SourceLocation where)
    : length_(options.length),
      tokens_(scope, options.vocabulary, options.length, options.block, where),
      layers_(scope, options.layers, options.block, where) {}

Tensor DecoderOnly::operator()(Tensor tokens, const Training* training,
                               SourceLocation where) const {
  CallScope call("DecoderOnly", "", {tokens}, where);
  Tensor x = tokens_(tokens, training);
  x = layers_(x, CausalMask(*x.graph, length_), training);
  return call.Of(tokens_.Logits(x));
}

Tensor DecoderOnly::Step(Tensor token, Decoding& decoding,
                         SourceLocation where) const {
  CallScope call("DecoderOnly", "", {token}, where);
  Tensor x = layers_.Step(tokens_.Step(token, decoding), decoding);
  return call.Of(tokens_.Logits(x));
}

Transformer::Transformer(const ParamScope& scope,
                         const EncoderDecoderOptions& options,
                         SourceLocation where)
    : target_length_(options.target_length),
      target_vocabulary_(options.target_vocabulary),
      source_(scope / "source", options.source_vocabulary,
              options.source_length, options.block, where),
      target_(scope / "target", options.target_vocabulary,
              options.target_length, options.block, where),
      encoder_(scope / "encoder", options.encoder_layers,
               OfLength(options.block, options.source_length), where),
      decoder_(scope / "decoder", options.decoder_layers,
               OfLength(options.block, options.target_length), where) {}

Tensor Transformer::Memory(Tensor source, const Training* training,
                           SourceLocation where) const {
  CallScope call("Transformer", "", {source}, where);
  return call.Of(encoder_(source_(source, training), std::nullopt, training));
}

Tensor Transformer::operator()(Tensor source, Tensor target,
                               const Training* training,
                               SourceLocation where) const {
  CallScope call("Transformer", "", {source, target}, where);
  Tensor mask = CausalMask(*source.graph, target_length_);
  Tensor memory = Memory(source, training);
  return call.Of(target_.Logits(
      decoder_(target_(target, training), memory, mask, training)));
}

Tensor Transformer::Loss(Tensor source, Tensor target, Tensor next,
                         const CrossEntropyOptions& options,
                         const Training* training, SourceLocation where) const {
  CallScope call("Transformer", "", {source, target, next}, where);
  Tensor logits = (*this)(source, target, training);
  Tensor wanted = OneHot(next, target_vocabulary_, logits.node().dtype);
  return call.Of(CrossEntropy(logits, wanted, options));
}

Tensor Transformer::Step(Tensor token, Tensor memory, Decoding& decoding,
                         SourceLocation where) const {
  CallScope call("Transformer", "", {token, memory}, where);
  Tensor x = decoder_.Step(target_.Step(token, decoding), memory, decoding);
  return call.Of(target_.Logits(x));
}

}  // namespace ocannl::train
