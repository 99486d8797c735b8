// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/transformer.h"

#include "absl/strings/str_cat.h"
#include "ocannl/train/blocks/call.h"
#include "ocannl/train/blocks/state.h"

namespace ocannl::train {
namespace {

AttentionOptions AttentionOf(const TransformerOptions& options) {
  return {.size = options.size,
          .heads = options.heads,
          .key_size = options.size / options.heads,
          .dropout = options.dropout,
          .rope_length = options.rope_length};
}

// An encoder's sequence may have another length.
AttentionOptions CrossAttentionOf(const TransformerOptions& options) {
  AttentionOptions attention = AttentionOf(options);
  attention.rope_length = std::nullopt;
  return attention;
}

LinearOptions Outputs(int64_t size) {
  return {.outputs = Dims{size}, .init = XavierUniform(1)};
}

// `x` and what `f` makes of it, as the options say.
Tensor Part(const TransformerOptions& options, const LayerNorm& norm, Tensor x,
            const Training* training, absl::FunctionRef<Tensor(Tensor)> f) {
  Tensor change = f(options.pre_norm ? norm(x) : x);
  Tensor sum = x + Dropout(change, options.dropout, training);
  return options.pre_norm ? sum : norm(sum);
}

}  // namespace

EncoderBlock::EncoderBlock(const ParamScope& scope,
                           const TransformerOptions& options,
                           SourceLocation where)
    : options_(options),
      self_(scope / "self", AttentionOf(options), where),
      self_norm_(scope / "self_norm", kNormEpsilon, where),
      in_(scope / "in", Outputs(options.hidden), where),
      out_(scope / "out", Outputs(options.size), where),
      mlp_norm_(scope / "mlp_norm", kNormEpsilon, where) {}

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

DecoderBlock::DecoderBlock(const ParamScope& scope,
                           const TransformerOptions& options,
                           SourceLocation where)
    : block_(scope, options, where),
      cross_(scope / "cross", CrossAttentionOf(options), where),
      cross_norm_(scope / "cross_norm", kNormEpsilon, where) {}

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

DecoderOnly::DecoderOnly(const ParamScope& scope,
                         const DecoderOnlyOptions& options,
                         SourceLocation where)
    : options_(options),
      tokens_(scope / "token",
              {.count = options.vocabulary, .size = options.block.size},
              where) {
  if (!options.block.rope_length) {
    positions_ = MakeParam(scope, "position_table", Dims{options.block.size},
                           Dims{options.length}, NormalInit(0.02), where);
  }
  for (int64_t k = 1; k <= options.layers; ++k) {
    blocks_.emplace_back(scope / absl::StrCat("block", k), options.block,
                         where);
  }
  if (options.block.pre_norm)
    norm_.emplace(scope / "norm", kNormEpsilon, where);
}

Tensor DecoderOnly::operator()(Tensor tokens, const Training* training,
                               SourceLocation where) const {
  CallScope call("DecoderOnly", "", {tokens}, where);
  Tensor x = tokens_(tokens);
  if (positions_) x = x + Einsum1("s->d => s|d", *positions_);
  x = Dropout(x, options_.block.dropout, training);
  Tensor mask = CausalMask(*x.graph, options_.length);
  for (const EncoderBlock& block : blocks_) x = block(x, mask, training);
  if (norm_) x = (*norm_)(x);
  return call.Of(Einsum("...|d; v->d => ...|v", x, tokens_.table()));
}

}  // namespace ocannl::train
