// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/softmax.h"

#include <limits>

namespace ocannl::train {
namespace {

// Below all numbers that matter, and not rounded to an infinity when stored.
double Lowest(DType dtype) {
  const bool small = dtype == DType::kF16 || dtype == DType::kF8E5M2;
  return small ? -57344 : -3e38;
}

}  // namespace

Tensor Softmax(absl::string_view spec, Tensor x) {
  Tensor e = Exp(x - StopGradient(EinMax1(spec, x)));
  return e / Einsum1(spec, e);
}

Tensor MaskedSoftmax(absl::string_view spec, Tensor x, Tensor mask) {
  Tensor seen = Select(mask, x, -std::numeric_limits<double>::infinity());
  // Finite, so that nothing is the difference of infinities.
  Tensor most = Max(Lowest(x.node().dtype), EinMax1(spec, seen));
  Tensor e = Exp(seen - StopGradient(most));
  // The sum is at least 1, or 0 where nothing is seen.
  return e / Max(0.5, Einsum1(spec, e));
}

Tensor LogSoftmax(absl::string_view spec, Tensor x) {
  Tensor shifted = x - StopGradient(EinMax1(spec, x));
  return shifted - Log(Einsum1(spec, Exp(shifted)));
}

}  // namespace ocannl::train
