// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers that name things: classes, tokens.
#ifndef OCANNL_TRAIN_BLOCKS_EMBEDDING_H_
#define OCANNL_TRAIN_BLOCKS_EMBEDDING_H_

#include <cstdint>

#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/init.h"
#include "ocannl/train/blocks/params.h"

namespace ocannl::train {

struct EmbeddingOptions {
  int64_t count;                        // how many things there are
  int64_t size;                         // cells of each one's vector
  Initializer init = NormalInit(0.02);  // GPT-2's; nn.Embedding: of 1
};

// The vector of each id, an integer: a column of the parameter "table",
// count->size; an id out of range gives zeros. Ids have batch axes only: 4,8|.
class Embedding {
 public:
  Embedding(const ParamScope& scope, const EmbeddingOptions& options,
            SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor ids,
                    SourceLocation where = SourceLocation::Current()) const;
  Tensor table() const { return table_; }

 private:
  Tensor table_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_EMBEDDING_H_
