// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/embedding.h"

#include "ocannl/core/tensor/indexing.h"
#include "ocannl/train/blocks/call.h"

namespace ocannl::train {

Embedding::Embedding(const ParamScope& scope, const EmbeddingOptions& options,
                     SourceLocation where)
    : table_(MakeParam(scope, "table", Dims{options.size}, Dims{options.count},
                       options.init, where)) {}

Tensor Embedding::operator()(Tensor ids, SourceLocation where) const {
  CallScope call("Embedding", "", {ids}, where);
  return call.Of(Gather("v->d; ...| => ...|d", table_, ids));
}

}  // namespace ocannl::train
