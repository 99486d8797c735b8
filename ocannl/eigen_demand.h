// SPDX-License-Identifier: Apache-2.0
//
// What the type of an Eigen map demands of an array (eigen.h), without Eigen.
#ifndef OCANNL_EIGEN_DEMAND_H_
#define OCANNL_EIGEN_DEMAND_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/index/byte_size.h"

namespace ocannl::eigen::internal {

constexpr int64_t kDynamic = -1;  // Eigen::Dynamic

struct Demand {
  DType dtype;
  int rank;  // 1 for a vector
  bool is_row_major;
  bool is_tensor = true;  // else a matrix or vector
  // Its rows and columns, and the most that it may have: fixed, or kDynamic.
  std::array<int64_t, 2> sizes = {kDynamic, kDynamic};
  std::array<int64_t, 2> most = {kDynamic, kDynamic};
};

// The rows and columns of an array as a matrix, or as a vector of one axis.
inline std::array<int64_t, 2> RowsAndCols(const Demand& demand,
                                          const Dims& dims) {
  if (dims.size() == 2) return {dims[0], dims[1]};
  if (demand.sizes[0] == 1) return {1, dims[0]};
  return {dims[0], 1};
}

// "Eigen::half" for f16; empty where Eigen has none.
inline std::string ScalarName(DType dtype) {
  if (dtype == DType::kF16) return "Eigen::half";
  if (dtype == DType::kBF16) return "Eigen::bfloat16";
  if (IsNarrow(dtype)) return "";
#define OCANNL_TYPE_NAME(name, text, type) \
  if (dtype == DType::k##name) return #type;
  OCANNL_DTYPES(OCANNL_TYPE_NAME)
#undef OCANNL_TYPE_NAME
  return "";
}

// The type of maps that fits any array of that rank.
inline std::string TypeName(DType dtype, size_t rank) {
  const std::string scalar = ScalarName(dtype);
  if (rank == 1) return absl::StrCat("eigen::Vector<", scalar, ">");
  if (rank == 2) return absl::StrCat("eigen::Matrix<", scalar, ">");
  return absl::StrCat("eigen::Tensor<", scalar, ", ", rank, ">");
}

// Error: an array, which messages call `name`, that has another dtype, rank,
// layout or size than the type of the map.
inline absl::Status Check(const Demand& demand, absl::string_view name,
                          DType dtype, const Dims& dims, SourceLocation where) {
  const std::string start = absl::StrCat(ToString(where), ": ", name, " is ",
                                         DescribeArray(dtype, dims));
  const std::string type = TypeName(dtype, dims.size());
  if (ScalarName(dtype).empty()) {
    return UserError(start, ", and Eigen has no scalar of ", Name(dtype),
                     "; convert the cells, for example by NdArray::AsDouble");
  }
  if (dtype != demand.dtype) {
    return UserError(start, ", and the map's type has cells of ",
                     Name(demand.dtype), "; take ", ScalarName(dtype),
                     ", as in ", type);
  }
  const auto rank = static_cast<int>(dims.size());
  const bool is_vector = demand.rank == 1 && !demand.is_tensor;
  if (rank != demand.rank && !(is_vector && rank == 2)) {
    return UserError(start, ", which has ", rank, " axes, and the map's type ",
                     "has ", demand.rank, "; take ", type);
  }
  if (demand.rank > 1 && !demand.is_row_major) {
    return UserError(start, ", row-major, and the map's type is column-major; ",
                     "take one with Eigen::RowMajor, such as ", type);
  }
  if (demand.is_tensor) return absl::OkStatus();
  const std::array<int64_t, 2> sizes = RowsAndCols(demand, dims);
  for (int k : {0, 1}) {
    const int64_t size = demand.sizes[k];
    const int64_t most = demand.most[k];
    if (size == sizes[k]) continue;
    if (size == kDynamic && (most == size || sizes[k] <= most)) continue;
    return UserError(start, ", which makes ", sizes[k],
                     k == 0 ? " rows" : " columns", ", and the map's type has ",
                     size == kDynamic ? "at most " : "", most,
                     "; take Eigen::Dynamic there, as in ", type);
  }
  return absl::OkStatus();
}

}  // namespace ocannl::eigen::internal

#endif  // OCANNL_EIGEN_DEMAND_H_
