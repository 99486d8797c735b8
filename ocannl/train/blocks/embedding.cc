// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/embedding.h"

#include "ocannl/core/tensor/indexing.h"

namespace ocannl::train {

Embedding::Embedding(const ParamScope& scope, const EmbeddingOptions& options)
    : table_(MakeParam(scope, "table", Dims{options.size}, Dims{options.count},
                       options.init)) {}

Tensor Embedding::operator()(Tensor ids) const {
  return Gather("v->d; ...| => ...|d", table_, ids);
}

}  // namespace ocannl::train
