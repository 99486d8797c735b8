// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers that name things: classes, tokens.
#ifndef OCANNL_TRAIN_BLOCKS_EMBEDDING_H_
#define OCANNL_TRAIN_BLOCKS_EMBEDDING_H_

#include <cstdint>

#include "ocannl/core/base/dtype.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/init.h"
#include "ocannl/train/blocks/params.h"

namespace ocannl::train {

// 0, 1, ..., count - 1 along one output axis.
Tensor Iota(Graph& graph, DType dtype, int64_t count);

// 1 where the output axis is at the id, else 0, in `dtype`: `ids` has batch
// axes only, 4,8|, the result also `count` outputs. An id out of range gives
// zeros only.
Tensor OneHot(Tensor ids, int64_t count, DType dtype = DType::kF32);

struct EmbeddingOptions {
  int64_t count;  // how many things there are
  int64_t size;   // cells of each one's vector
  Initializer init = NormalInit(0.02);
};

// The vector of each id: a column of the parameter "table", count->size; an id
// out of range gives zeros.
class Embedding {
 public:
  Embedding(const ParamScope& scope, const EmbeddingOptions& options);

  Tensor operator()(Tensor ids) const;
  Tensor table() const { return table_; }

 private:
  EmbeddingOptions options_;
  Tensor table_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_EMBEDDING_H_
