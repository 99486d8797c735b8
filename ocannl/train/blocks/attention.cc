// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/attention.h"

#include <cmath>

#include "absl/strings/string_view.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/call.h"
#include "ocannl/train/blocks/position.h"
#include "ocannl/train/blocks/softmax.h"
#include "ocannl/train/blocks/state.h"

namespace ocannl::train {
namespace {

constexpr absl::string_view kOverMemory = "...|t->... => ...|0->...";

LinearOptions Heads(const AttentionOptions& options, int64_t size) {
  return {.outputs = Dims{options.heads, size},
          .bias = options.bias,
          .init = XavierUniform(1)};
}

}  // namespace

Tensor CausalMask(Graph& graph, int64_t length, SourceLocation where) {
  Tensor places = Range(graph, length, DType::kI32, where);
  CallScope call("CausalMask", "", {places}, where);
  return call.Of(
      LessEqual(Einsum1("t => |t->", places), Einsum1("s => s|", places)));
}

MultiHeadAttention::MultiHeadAttention(const ParamScope& scope,
                                       const AttentionOptions& options,
                                       SourceLocation where)
    : scope_(scope),
      options_(options),
      query_(scope / "query", Heads(options, options.key_size), where),
      key_(scope / "key", Heads(options, options.key_size), where),
      value_(scope / "value",
             Heads(options, options.value_size.value_or(options.key_size)),
             where),
      out_(scope / "out",
           {.outputs = Dims{options.size},
            .bias = options.bias,
            .init = XavierUniform(1)},
           where) {}

Tensor MultiHeadAttention::Turned(Tensor x) const {
  if (!options_.rope_length) return x;
  return Rope(scope_,
              {.length = *options_.rope_length, .size = options_.key_size}, x);
}

Tensor MultiHeadAttention::operator()(Tensor x, Tensor memory,
                                      std::optional<Tensor> mask,
                                      const Training* training,
                                      SourceLocation where) const {
  CallScope call("MultiHeadAttention", "", {x, memory}, where);
  const double scale = 1 / std::sqrt(static_cast<double>(options_.key_size));
  Tensor queries = Mul(Turned(query_(x)), scale);
  Tensor keys = Turned(key_(memory));
  Tensor scores = Einsum("...s|hk; ...t|hk => ...s|t->h", queries, keys);
  Tensor weights = mask ? MaskedSoftmax(kOverMemory, scores, *mask)
                        : Softmax(kOverMemory, scores);
  weights = Dropout(weights, options_.dropout, training);
  return call.Of(
      out_(Einsum("...s|t->h; ...t|hv => ...s|hv", weights, value_(memory))));
}

}  // namespace ocannl::train
