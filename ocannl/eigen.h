// SPDX-License-Identifier: Apache-2.0
//
// Arrays and parameters as Eigen's matrices and tensors, and the other way. The
// library does not need Eigen. A program that includes this header does: with
// Bazel add @ocannl//ocannl:eigen to its deps, else add eigen3 of pkg-config or
// Eigen3::Eigen of CMake (Debian's package libeigen3-dev).
//
//   NdArray a(DType::kF32, {2, 3});
//   OCANNL_ASSIGN_OR_RETURN(auto m, eigen::MapOf<eigen::Matrix<float>>(a));
//   m.row(0).setConstant(7);                              // changes `a`
//   NdArray gram = eigen::ArrayOf(m * m.transpose());     // a copy
//   OCANNL_RETURN_IF_ERROR(eigen::FillMap<eigen::Matrix<float>>(
//       context, "w", [](auto w) { w *= 0.5f; }));        // in place
//
// A map is an Eigen::Matrix, Array or Tensor of the dtype's scalar: Eigen::half
// for f16, Eigen::bfloat16 for bf16, else that of dtype.h. Eigen has none for
// f8e4m3 and f8e5m2. Types of several axes must be row-major, as arrays are,
// and sizes that they fix must be those of the array.
//
// A map is valid as long as the cells that it points at. Those of an NdArray
// are, until the array is assigned, destroyed, or moved, for example into a
// graph or a session. Context::Read copies: when a routine or session steps, a
// map of such an array keeps the old values. A map that UseMap or FillMap
// passes is valid until the call returns. Later steps write the same cells,
// perhaps on other threads and after Run has returned.
#ifndef OCANNL_EIGEN_H_
#define OCANNL_EIGEN_H_

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <type_traits>
#include <unsupported/Eigen/CXX11/Tensor>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/eigen_demand.h"

namespace ocannl::eigen {

// Types of maps, row-major.
template <class Scalar>
using Matrix =
    Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Scalar>
using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
template <class Scalar, int rank>
using Tensor = Eigen::Tensor<Scalar, rank, Eigen::RowMajor>;

namespace internal {

template <class Type>
constexpr bool kIsTensor = false;
template <class Scalar, int rank, int options, class Index>
constexpr bool kIsTensor<Eigen::Tensor<Scalar, rank, options, Index>> = true;

// The dtype of cells that Eigen takes for `Scalar`.
template <class Scalar>
constexpr DType DTypeOfScalar() {
  if constexpr (std::is_same_v<Scalar, Eigen::half>) {
    return DType::kF16;
  } else if constexpr (std::is_same_v<Scalar, Eigen::bfloat16>) {
    return DType::kBF16;
  } else {
#define OCANNL_IS_TYPE(name, text, type) || std::is_same_v<Scalar, type>
    static_assert(!kIsNarrow<Scalar> && (false OCANNL_DTYPES(OCANNL_IS_TYPE)),
                  "ocannl: no dtype has this scalar; dtype.h lists them");
#undef OCANNL_IS_TYPE
    return DTypeOf<Scalar>();
  }
}

template <class Plain>
constexpr Demand DemandOf() {
  const DType dtype = DTypeOfScalar<typename Plain::Scalar>();
  if constexpr (kIsTensor<Plain>) {
    return {.dtype = dtype,
            .rank = Plain::NumIndices,
            .is_row_major = int{Plain::Layout} == Eigen::RowMajor};
  } else {
    static_assert(std::is_base_of_v<Eigen::PlainObjectBase<Plain>, Plain>,
                  "ocannl: give an Eigen::Matrix, Array or Tensor");
    return {.dtype = dtype,
            .rank = Plain::IsVectorAtCompileTime ? 1 : 2,
            .is_row_major = Plain::IsRowMajor,
            .is_tensor = false,
            .sizes = {Plain::RowsAtCompileTime, Plain::ColsAtCompileTime},
            .most = {Plain::MaxRowsAtCompileTime, Plain::MaxColsAtCompileTime}};
  }
}

}  // namespace internal

// A map of a type, or of a const one.
template <class Plain>
using Map = std::conditional_t<internal::kIsTensor<std::remove_const_t<Plain>>,
                               Eigen::TensorMap<Plain>, Eigen::Map<Plain>>;

namespace internal {

// The map of the cells at `bytes`, which Check accepted.
template <class Plain>
Map<Plain> MakeMap(const std::byte* bytes, const Dims& dims) {
  using Bare = std::remove_const_t<Plain>;
  auto* cells =
      reinterpret_cast<typename Bare::Scalar*>(const_cast<std::byte*>(bytes));
  if constexpr (kIsTensor<Bare>) {
    typename Bare::Dimensions sizes;
    for (size_t k = 0; k < dims.size(); ++k) sizes[k] = dims[k];
    return Map<Plain>(cells, sizes);
  } else {
    const auto [rows, cols] = RowsAndCols(DemandOf<Bare>(), dims);
    return Map<Plain>(cells, rows, cols);
  }
}

// The array of a context, which Check accepts.
template <class Plain>
absl::StatusOr<Context::ArrayInfo> InfoFor(const Context& context,
                                           absl::string_view name,
                                           SourceLocation where) {
  OCANNL_ASSIGN_OR_RETURN(Context::ArrayInfo info, context.InfoOf(name));
  OCANNL_RETURN_IF_ERROR(Check(DemandOf<Plain>(), absl::StrCat("`", name, "`"),
                               info.dtype, info.dims, where));
  return info;
}

}  // namespace internal

// The cells of `array` as a map, without a copy. Errors: another dtype, rank,
// layout or size.
template <class Plain>
absl::StatusOr<Map<const Plain>> MapOf(
    const NdArray& array, SourceLocation where = SourceLocation::Current()) {
  OCANNL_RETURN_IF_ERROR(internal::Check(internal::DemandOf<Plain>(),
                                         "the array", array.dtype(),
                                         array.dims(), where));
  return internal::MakeMap<const Plain>(array.data(), array.dims());
}
template <class Plain>
absl::StatusOr<Map<Plain>> MapOf(
    NdArray& array, SourceLocation where = SourceLocation::Current()) {
  OCANNL_RETURN_IF_ERROR(MapOf<Plain>(std::as_const(array), where).status());
  return internal::MakeMap<Plain>(array.data(), array.dims());
}
// The cells of a temporary array are gone after the statement.
template <class Plain>
void MapOf(const NdArray&& array) = delete;

// The value of a matrix, vector or expression of these, in any layout, as a new
// array: a copy. What Eigen knows to be a vector has one axis. For data of a
// graph without a copy, make the NdArray first, and write it through a map.
template <class Derived>
NdArray ArrayOf(const Eigen::DenseBase<Derived>& matrix) {
  using Scalar = typename Derived::Scalar;
  const Dims dims = Derived::IsVectorAtCompileTime
                        ? Dims{matrix.size()}
                        : Dims{matrix.rows(), matrix.cols()};
  NdArray array(internal::DTypeOfScalar<Scalar>(), dims);
  internal::MakeMap<Matrix<Scalar>>(
      array.data(), {matrix.rows(), matrix.cols()}) = matrix.derived();
  return array;
}

// The same of a tensor.
template <class Derived, int access>
NdArray ArrayOf(const Eigen::TensorBase<Derived, access>& tensor) {
  using Traits = Eigen::internal::traits<Derived>;
  using Scalar = std::remove_const_t<typename Traits::Scalar>;
  constexpr int kRank = Traits::NumDimensions;
  const auto& value = static_cast<const Derived&>(tensor);
  const Eigen::DefaultDevice device;
  const Eigen::TensorEvaluator<const Derived, Eigen::DefaultDevice> evaluator(
      value, device);
  Dims dims;
  for (int k = 0; k < kRank; ++k) dims.push_back(evaluator.dimensions()[k]);
  NdArray array(internal::DTypeOfScalar<Scalar>(), dims);
  auto map = internal::MakeMap<Tensor<Scalar, kRank>>(array.data(), dims);
  if constexpr (static_cast<int>(Traits::Layout) == Eigen::RowMajor) {
    map = value;
  } else if constexpr (kRank < 2) {
    map = value.swap_layout();
  } else {
    std::array<int, kRank> reversed;  // swap_layout reverses the axes
    for (int k = 0; k < kRank; ++k) reversed[k] = kRank - 1 - k;
    map = value.swap_layout().shuffle(reversed);
  }
  return array;
}

// Calls `use`, which returns nothing, with a const map of the array `name` of
// `context`, after the work of its stream so far, and returns when it has been
// called. Arrays in the memory of the host are not copied; on a GPU the map is
// of a copy. `use` must not use the context. Errors: those of MapOf; no such
// array, or one that was never written; that of a run.
template <class Plain, class F>
absl::Status UseMap(const Context& context, absl::string_view name, F use,
                    SourceLocation where = SourceLocation::Current()) {
  static_assert(std::is_void_v<std::invoke_result_t<F&, Map<const Plain>>>);
  OCANNL_ASSIGN_OR_RETURN(const Context::ArrayInfo info,
                          internal::InfoFor<Plain>(context, name, where));
  OCANNL_RETURN_IF_ERROR(
      context.Use(name, [&](absl::Span<const std::byte> bytes) {
        use(internal::MakeMap<const Plain>(bytes.data(), info.dims));
        return absl::OkStatus();
      }));
  context.stream().Sync();  // a worker has called it then
  return context.stream().status();
}

// The same with a map that `fill` may write: what it leaves there is the value
// of the array. It finds the value so far, or zeros. Errors: those of UseMap,
// but the array need not be written; those of Context::Write.
//
//   OCANNL_RETURN_IF_ERROR(eigen::FillMap<eigen::Matrix<float>>(
//       context, "x", [&](auto x) { x.setIdentity(); }));
template <class Plain, class F>
absl::Status FillMap(const Context& context, absl::string_view name, F fill,
                     SourceLocation where = SourceLocation::Current()) {
  static_assert(std::is_void_v<std::invoke_result_t<F&, Map<Plain>>>);
  OCANNL_ASSIGN_OR_RETURN(const Context::ArrayInfo info,
                          internal::InfoFor<Plain>(context, name, where));
  if (!context.stream().device().backend().memory().is_host()) {
    NdArray values(info.dtype, info.dims);
    if (info.written) {
      OCANNL_ASSIGN_OR_RETURN(values, context.Read(name));
    }
    fill(internal::MakeMap<Plain>(values.data(), info.dims));
    return context.Write(name, values);
  }
  OCANNL_RETURN_IF_ERROR(context.Fill(name, [&](absl::Span<std::byte> bytes) {
    fill(internal::MakeMap<Plain>(bytes.data(), info.dims));
    return absl::OkStatus();
  }));
  context.stream().Sync();
  return context.stream().status();
}

}  // namespace ocannl::eigen

#endif  // OCANNL_EIGEN_H_
