// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/parallel/shards.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/ops/random.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/leaf.h"

namespace ocannl::train {

std::string Describe(const NdArray& array) {
  return DescribeArray(array.dtype(), array.dims());
}

absl::StatusOr<std::vector<NdArray>> ShardAlong(const NdArray& array,
                                                int64_t axis,
                                                int64_t n_shards) {
  if (n_shards <= 0) {
    return UserError("n_shards is ", n_shards, "; it must be at least 1");
  }
  if (axis != 0) {
    return UserError("arrays are sharded along axis 0, not along axis ", axis,
                     "; make the axis of the examples the first one");
  }
  if (array.dims().empty()) {
    return UserError(Describe(array),
                     " is a scalar, without an axis 0 to make ", n_shards,
                     " shards along");
  }
  Dims dims = array.dims();
  if (dims[0] % n_shards != 0) {
    return UserError("axis 0 of ", Describe(array), " has ", dims[0],
                     " cells, which ", n_shards, " does not divide; leave out ",
                     dims[0] % n_shards);
  }
  dims[0] /= n_shards;
  std::vector<NdArray> shards(n_shards, NdArray(array.dtype(), dims));
  const std::byte* from = array.data();
  for (NdArray& shard : shards) {
    std::copy_n(from, shard.bytes(), shard.data());
    from += shard.bytes();
  }
  return shards;
}

absl::StatusOr<NdArray> Gather(absl::Span<const NdArray> shards) {
  if (shards.empty()) {
    return absl::InvalidArgumentError("there are no shards to gather");
  }
  const NdArray& first = shards[0];
  if (first.dims().empty()) {
    return UserError("shard 0, ", Describe(first),
                     ", is a scalar, without an axis 0");
  }
  for (size_t s = 1; s < shards.size(); ++s) {
    if (shards[s].dtype() == first.dtype() &&
        shards[s].dims() == first.dims()) {
      continue;
    }
    return UserError("shard ", s, " is ", Describe(shards[s]), ", but shard 0 ",
                     Describe(first), "; all must be alike");
  }
  Dims dims = first.dims();
  dims[0] *= static_cast<int64_t>(shards.size());
  NdArray whole(first.dtype(), std::move(dims));
  std::byte* to = whole.data();
  for (const NdArray& shard : shards) {
    to = std::copy_n(shard.data(), shard.bytes(), to);
  }
  return whole;
}

absl::StatusOr<std::vector<std::vector<NdArray>>> ShardBatch(
    absl::Span<const BatchInput> inputs, int64_t n_shards) {
  if (inputs.empty()) {
    return absl::InvalidArgumentError("there are no inputs to shard");
  }
  std::vector<std::vector<NdArray>> batch;
  for (const BatchInput& input : inputs) {
    auto shards = ShardAlong(input.values, 0, n_shards);
    if (!shards.ok()) {
      return UserError("input `", input.name, "`: ", shards.status().message());
    }
    batch.push_back(*std::move(shards));
    const int64_t length = input.values.dims()[0];
    const int64_t first = inputs[0].values.dims()[0];
    if (length == first) continue;
    return UserError("input `", input.name, "` has ", length,
                     " examples, but input `", inputs[0].name, "` has ", first,
                     "; all must have as many");
  }
  return batch;
}

uint32_t ShardSeed(uint32_t base_seed, int64_t shard) {
  if (shard == 0) return base_seed;
  return Threefry(ThreefryVariant::kCrypto,
                  {base_seed, 0x73686172, 0, 0},  // "shar"
                  {static_cast<uint32_t>(shard), 0, 0, 0})[0];
}

Tensor MakeInput(Graph& graph, const std::string& name, NdArray shard) {
  ShapeSpec rows;
  rows[RowKind::kOutput] = Dims(shard.dims().begin() + 1, shard.dims().end());
  rows[RowKind::kInput] = Dims{};
  return Data(graph, name, std::move(shard), rows);
}

absl::StatusOr<NdArray> HostValues(Tensor t) {
  const auto* data = std::get_if<DataSource>(&t.node().source);
  if (data != nullptr) return *data->data;
  return UserError(Describe(t.node()),
                   " has no values on the host; read those ",
                   "of a context that has computed it");
}

absl::StatusOr<double> HostGet(Tensor t, absl::Span<const int64_t> indices) {
  OCANNL_ASSIGN_OR_RETURN(const NdArray values, HostValues(t));
  const Dims& dims = values.dims();
  int64_t offset = 0;
  bool fits = indices.size() == dims.size();
  for (size_t axis = 0; fits && axis < dims.size(); ++axis) {
    fits = indices[axis] >= 0 && indices[axis] < dims[axis];
    offset = offset * dims[axis] + indices[axis];
  }
  if (fits) return values.AsDouble(offset);
  return absl::OutOfRangeError(absl::StrCat("[", absl::StrJoin(indices, ", "),
                                            "] is no cell of `", t.node().name,
                                            "`, which is ", Describe(values)));
}

}  // namespace ocannl::train
