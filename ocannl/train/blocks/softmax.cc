// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/softmax.h"

#include <limits>

#include "ocannl/train/blocks/call.h"
#include "ocannl/train/blocks/wide.h"

namespace ocannl::train {
namespace {

// Below all numbers that matter.
constexpr double kLowest = -3e38;

}  // namespace

Tensor Softmax(absl::string_view spec, Tensor x, SourceLocation where) {
  CallScope call("Softmax", spec, {x}, where);
  const DType dtype = DecidedDType(x);
  const Tensor wide = Widened(x);
  Tensor e = Exp(wide - StopGradient(EinMax1(spec, wide)));
  return call.Of(InDType(e / Einsum1(spec, e), dtype));
}

Tensor MaskedSoftmax(absl::string_view spec, Tensor x, Tensor mask,
                     SourceLocation where) {
  CallScope call("MaskedSoftmax", spec, {x, mask}, where);
  const DType dtype = DecidedDType(x);
  Tensor seen =
      Select(mask, Widened(x), -std::numeric_limits<double>::infinity());
  // Finite, so that nothing is the difference of infinities.
  Tensor most = Max(kLowest, EinMax1(spec, seen));
  Tensor e = Exp(seen - StopGradient(most));
  // The sum is at least 1, or 0 where nothing is seen.
  return call.Of(InDType(e / Max(0.5, Einsum1(spec, e)), dtype));
}

Tensor LogSoftmax(absl::string_view spec, Tensor x, SourceLocation where) {
  CallScope call("LogSoftmax", spec, {x}, where);
  const DType dtype = DecidedDType(x);
  const Tensor wide = Widened(x);
  Tensor shifted = wide - StopGradient(EinMax1(spec, wide));
  Tensor y = shifted - Log(Einsum1(spec, Exp(shifted)));
  return call.Of(InDType(y, dtype));
}

}  // namespace ocannl::train
