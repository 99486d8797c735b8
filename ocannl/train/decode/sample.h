// SPDX-License-Identifier: Apache-2.0
//
// Sample: one of several things, by their logits, as a part of the graph: the
// same one on every tier, and nothing goes to the host in between.
//
//   int32_t draw = graph.AddStatic("draw", std::nullopt);
//   Tensor next = Sample(logits, {.temperature = 0.8, .top_k = 40},
//                        EmbedSymbol(graph, draw));      // 8|256 gives 8|
#ifndef OCANNL_TRAIN_DECODE_SAMPLE_H_
#define OCANNL_TRAIN_DECODE_SAMPLE_H_

#include <cstdint>

#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::train {

struct SampleOptions {
  double temperature = 1;  // 0: the greatest logit, the first of several
  int64_t top_k = 0;       // only so many of the greatest; 0: any
};

// The number, an i32, of one of the logits, ...|n, of each group: drawn by
// softmax(logits / temperature) of the greatest `top_k`, and of those that
// equal the least of them. The draw depends on the graph's seed, the ordinal of
// the call among the random operations of the graph, `counter` and the group.
// `counter` is a static index or a u32 tensor without axes.
//
// Temperatures by Gumbel's trick: argmax(logits - T log(-log(u))), Gumbel
// (1954). The least of the k greatest is found by bisection of its bits: 32
// passes over the logits, whatever k is.
//
// Error node: a temperature or a k below 0.
Tensor Sample(Tensor logits, const SampleOptions& options, Tensor counter,
              SourceLocation where = SourceLocation::Current());

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_DECODE_SAMPLE_H_
