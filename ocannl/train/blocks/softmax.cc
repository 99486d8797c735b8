// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/softmax.h"

#include <limits>

#include "ocannl/train/blocks/call.h"

namespace ocannl::train {
namespace {

// Below all numbers that matter, and not rounded to an infinity when stored.
double Lowest(DType dtype) {
  const bool small = dtype == DType::kF16 || dtype == DType::kF8E5M2;
  return small ? -57344 : -3e38;
}

}  // namespace

Tensor Softmax(absl::string_view spec, Tensor x, SourceLocation where) {
  CallScope call("Softmax", spec, {x}, where);
  Tensor e = Exp(x - StopGradient(EinMax1(spec, x)));
  return call.Of(e / Einsum1(spec, e));
}

Tensor MaskedSoftmax(absl::string_view spec, Tensor x, Tensor mask,
                     SourceLocation where) {
  CallScope call("MaskedSoftmax", spec, {x, mask}, where);
  Tensor seen = Select(mask, x, -std::numeric_limits<double>::infinity());
  // Finite, so that nothing is the difference of infinities.
  Tensor most = Max(Lowest(x.node().dtype), EinMax1(spec, seen));
  Tensor e = Exp(seen - StopGradient(most));
  // The sum is at least 1, or 0 where nothing is seen.
  return call.Of(e / Max(0.5, Einsum1(spec, e)));
}

Tensor LogSoftmax(absl::string_view spec, Tensor x, SourceLocation where) {
  CallScope call("LogSoftmax", spec, {x}, where);
  Tensor shifted = x - StopGradient(EinMax1(spec, x));
  return call.Of(shifted - Log(Einsum1(spec, Exp(shifted))));
}

}  // namespace ocannl::train
