// SPDX-License-Identifier: Apache-2.0
//
// Attention: each place of a sequence takes from the places of a memory what
// it asks for.
//
//   MultiHeadAttention attend(scope / "attention",
//                             {.size = 64, .heads = 4, .key_size = 16});
//   Tensor y = attend(x, x, {.mask = CausalMask(graph, 128)}, training);
//
// Sequences have shape ...,length|size. Vaswani et al., "Attention is all you
// need" (2017).
#ifndef OCANNL_TRAIN_BLOCKS_ATTENTION_H_
#define OCANNL_TRAIN_BLOCKS_ATTENTION_H_

#include <cstdint>
#include <optional>

#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"
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
};

// softmax(q k / sqrt(key_size)) v of each head, and a linear map of what the
// heads found. Parameters: query_w, query_b, key_..., value_..., out_...
class MultiHeadAttention {
 public:
  MultiHeadAttention(const ParamScope& scope, const AttentionOptions& options,
                     SourceLocation where = SourceLocation::Current());

  // For each place of `x` from the places of `memory`, where the bools of
  // `mask`, if any, which broadcast to ...,s|t->heads, are true.
  Tensor operator()(Tensor x, Tensor memory, std::optional<Tensor> mask,
                    const Training* training,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  Tensor Turned(Tensor x) const;

  ParamScope scope_;
  AttentionOptions options_;
  Linear query_, key_, value_, out_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_ATTENTION_H_
