// SPDX-License-Identifier: Apache-2.0
//
// Shards: a batch cut into equal parts, one for each of several devices.
//
//   ShardAlong(0 .. 5, 0, 3)   [0, 1], [2, 3], [4, 5]
#ifndef OCANNL_TRAIN_PARALLEL_SHARDS_H_
#define OCANNL_TRAIN_PARALLEL_SHARDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::train {

// "f32[4,2]", for messages.
std::string Describe(const NdArray& array);

// Copies of the `n_shards` equal parts of `array` along `axis`, in order.
// Errors: a number of shards below 1 or that does not divide the axis; another
// axis than 0; a scalar.
absl::StatusOr<std::vector<NdArray>> ShardAlong(const NdArray& array,
                                                int64_t axis, int64_t n_shards);

// The inverse: `shards` one after the other along axis 0. Errors: no shards,
// scalars, shards of different dtypes or dims.
absl::StatusOr<NdArray> Gather(absl::Span<const NdArray> shards);

// A part of the batch: axis 0 is that of the examples. In a graph, the axis is
// the batch row, which a static index may slice, and the others are output
// axes.
struct BatchInput {
  std::string name;
  NdArray values;
};

// The shards of each input, by input. Errors: those of ShardAlong; no inputs,
// or some of different lengths.
absl::StatusOr<std::vector<std::vector<NdArray>>> ShardBatch(
    absl::Span<const BatchInput> inputs, int64_t n_shards);

// The seed of the random numbers of a shard: base_seed for the first one. With
// base_seed + shard, shard 1 would draw what shard 0 of the next seed draws.
uint32_t ShardSeed(uint32_t base_seed, int64_t shard);

// The data tensor of a shard of an input.
Tensor MakeInput(Graph& graph, const std::string& name, NdArray shard);

// The values of a tensor of Data() as the host gave them, and the one at
// `indices`, one for each axis of what was given, the first one outermost.
// Errors: another tensor; an index out of range, or too few or many.
absl::StatusOr<NdArray> HostValues(Tensor t);
absl::StatusOr<double> HostGet(Tensor t, absl::Span<const int64_t> indices);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_PARALLEL_SHARDS_H_
