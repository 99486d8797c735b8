// SPDX-License-Identifier: Apache-2.0
//
// ParamsHash: one word for all bits of a model's parameters, to compare runs.
#ifndef OCANNL_TRAIN_GRAPH_PARAMS_HASH_H_
#define OCANNL_TRAIN_GRAPH_PARAMS_HASH_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::train {

// 16 hexadecimal digits: XXH64 (https://xxhash.com) of the parameters' names,
// dtypes, dims and little-endian elements in the given order, NaNs made equal.
// Error: a parameter without a value.
absl::StatusOr<std::string> ParamsHash(const Context& context,
                                       absl::Span<const Tensor> parameters);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_GRAPH_PARAMS_HASH_H_
