// SPDX-License-Identifier: Apache-2.0
//
// Attention: each place of a sequence takes from the places of a memory what
// it asks for.
//
//   MultiHeadAttention attend(scope / "attention",
//                             {.size = 64, .heads = 4, .key_size = 16});
//   Tensor y = attend(x, x, CausalMask(graph, 128), training);
//
// Sequences have shape ...,length|size. Vaswani et al., "Attention is all you
// need" (2017).
//
// For each head a place has e[t] = exp(score[t] - m), exactly 0 where the mask
// is false. m is the greatest score that the place sees. The place finds the
// sum of e[t] value[t], divided by the sum of e[t].
//
// The weights e / sum are not computed (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018; Rabe and Staats, "Self-attention
// does not need O(n^2) memory", 2021). The gradient of the sum is
// -(sum of found found.grad) / sum, a number for each place (Dao et al.,
// "FlashAttention", 2022). A place that sees nothing finds 0, and has no part
// in any gradient. docs/numerics.md says which results have the same bits.
// Large scores and weights exist for some places at a time, and are computed
// again in the backward pass. So memory is linear in the length
// (core/opt/block_rows.h).
#ifndef OCANNL_TRAIN_BLOCKS_ATTENTION_H_
#define OCANNL_TRAIN_BLOCKS_ATTENTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/init.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/blocks/state.h"

namespace ocannl::train {

// Which places t of the memory each place s may see, length|length->: those
// with t <= s.
Tensor CausalMask(Graph& graph, int64_t length,
                  SourceLocation where = SourceLocation::Current());

struct AttentionOptions {
  int64_t size;  // cells of the result's vectors
  int64_t heads;
  int64_t key_size;                        // of one head
  std::optional<int64_t> value_size = {};  // of one head; none: key_size
  bool bias = true;
  double dropout = 0;  // of the weights, in [0, 1)
  // Turns queries and keys by their positions; both sequences have this length.
  std::optional<int64_t> rope_length = {};
  // Scores are divided by it: above 1, the weights are more alike.
  double temperature = 1;
  // First values: of queries, keys and values, and of what the heads found.
  // Those of PyTorch's nn.MultiheadAttention are XavierUniform(3), as it keeps
  // three matrices as one, and TorchLinear().weights.
  LayerInit init = XavierUniform(1), out_init = XavierUniform(1);
};

// Decoding: sequences of which one place after the other is computed, with a
// key-value cache of those before, so that a place costs as much as there are
// places.
//
//   Decoding decoding{.position = graph.AddStatic("position", 64),
//                     .length = 64, .batch = {8}};
//   Tensor logits = net.Step(token, decoding);   // 8| gives 8|vocabulary
//   OCANNL_ASSIGN_OR_RETURN(UpdateCode cache,
//                           UpdateStates(model, decoding.step));
//   // init: cache.init     for each position: logits, cache.update
//
// Places after the position weigh 0, so nothing needs to be cleared before the
// next sequence if all is finite. The logits of a place are those of the whole
// sequence, to the last bit, for one sequence or many (docs/numerics.md).
struct Decoding {
  int32_t position;  // a static index in 0 to length - 1
  int64_t length;
  Dims batch;                 // of the tokens
  int64_t memory_length = 0;  // of what an encoder made
  // What the blocks that were applied keep: of a memory, to be updated before
  // the first place; of each place, after it.
  std::vector<StateUpdate> start = {}, step = {};
};

// softmax(q k / (sqrt(key_size) temperature)) v of each head, and a linear map
// of what the heads found. Scores and both sums of narrow floats are f32.
// Dropout is that of the weights: it drops from the sum of e[t] value[t] alone.
// Parameters: query_w, query_b, key_..., value_..., out_... Error node: a
// temperature that is not above 0.
class MultiHeadAttention {
 public:
  MultiHeadAttention(const ParamScope& scope, const AttentionOptions& options,
                     SourceLocation where = SourceLocation::Current());

  // For each place of `x` from the places of `memory`, where the bools of
  // `mask`, if any, which broadcast to ...,s|t->heads, are true.
  Tensor operator()(Tensor x, Tensor memory, std::optional<Tensor> mask,
                    const Training* training,
                    SourceLocation where = SourceLocation::Current()) const;

  // For the place `x`, ...|size, of a sequence from it and those before.
  // States: keys, values.
  Tensor Step(Tensor x, Decoding& decoding,
              SourceLocation where = SourceLocation::Current()) const;

  // Likewise from all places of `memory`, which is the same for all of `x`.
  Tensor Step(Tensor x, Tensor memory, Decoding& decoding,
              SourceLocation where = SourceLocation::Current()) const;

 private:
  Tensor Turned(Tensor x) const;
  Tensor TurnedAt(Tensor x, const Decoding& decoding) const;
  Tensor State(absl::string_view name, int64_t length, int64_t size,
               const Decoding& decoding) const;
  // `places` is the axis of the queries, "s" or none.
  Tensor Attend(absl::string_view places, Tensor queries, Tensor keys,
                Tensor values, std::optional<Tensor> mask,
                const Training* training) const;

  ParamScope scope_;
  AttentionOptions options_;
  Linear query_, key_, value_, out_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_ATTENTION_H_
