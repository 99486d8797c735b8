// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/embedding.h"

#include "absl/status/status.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tensor/dims.h"

namespace ocannl::train {

Tensor Iota(Graph& graph, DType dtype, int64_t count) {
  Tensor iota = Einsum1("i => i", Offsets(graph, dtype));
  absl::Status status = SetDim(iota, "i", count);
  if (status.ok()) return iota;
  return ErrorTensor(graph, status, SourceLocation::Current());
}

Tensor OneHot(Tensor ids, int64_t count, DType dtype) {
  Tensor iota = Iota(*ids.graph, ids.node().dtype, count);
  return As(dtype, Equal(ids, iota));
}

Embedding::Embedding(const ParamScope& scope, const EmbeddingOptions& options)
    : options_(options),
      table_(MakeParam(scope, "table", Dims{options.size}, Dims{options.count},
                       options.init)) {}

Tensor Embedding::operator()(Tensor ids) const {
  return table_ * OneHot(ids, options_.count, table_.node().dtype);
}

}  // namespace ocannl::train
