// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fit_squares.h"

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rules.h"
#include "tests/support/must_parse_tensor.h"

namespace ocannl {
namespace {

NdArray Ramp(int64_t rows, int64_t columns) {
  NdArray array(DType::kF32, {rows, columns});
  absl::Span<float> values = array.values<float>();
  for (size_t k = 0; k < values.size(); ++k) {
    values[k] = static_cast<float>(k % 13) / 16 - 0.37f;
  }
  return array;
}

}  // namespace

absl::StatusOr<train::DataParallel> FitSquares(
    const Backend* backend, const train::DataParallelOptions& options,
    absl::string_view model, int64_t rows, int64_t columns, double rate) {
  const std::string loss =
      absl::StrCat("(((", model, ") - y) **. 2) ++ \"...|... => 0\"");
  return train::DataParallel::Make(
      backend, options,
      {{"x", Ramp(rows, columns)}, {"y", Ramp(rows, columns)}},
      [&](train::Model& made, absl::Span<const Tensor> batch) {
        Names names;
        names.tensors = {{"x", batch[0]}, {"y", batch[1]}};
        return Named(MustParseTensor(made.graph, loss, names), "loss");
      },
      [&](train::Model& made, Tensor tensor, const auto&) {
        return train::SgdUpdate(made, tensor, Number(made.graph, rate), {});
      });
}

}  // namespace ocannl
