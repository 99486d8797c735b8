// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/softmax.h"

#include <limits>
#include <optional>

#include "ocannl/train/blocks/call.h"
#include "ocannl/train/blocks/wide.h"

namespace ocannl::train {
namespace {

// Below all numbers that matter.
constexpr double kLowest = -3e38;

}  // namespace

SoftmaxParts PartsOfSoftmax(absl::string_view spec, Tensor x,
                            std::optional<Tensor> mask, SourceLocation where) {
  CallScope call("PartsOfSoftmax", spec, {x}, where);
  const Tensor wide = Widened(x);
  if (!mask) {
    const Tensor e = Exp(wide - StopGradient(EinMax1(spec, wide)));
    return {.e = e, .sum = Einsum1(spec, e)};
  }
  const Tensor seen =
      Select(*mask, wide, -std::numeric_limits<double>::infinity());
  // Finite, so that nothing is the difference of infinities.
  const Tensor most = Max(kLowest, EinMax1(spec, seen));
  const Tensor e = Exp(seen - StopGradient(most));
  // The sum is at least 1, or 0 where nothing is seen.
  return {.e = e, .sum = Max(0.5, Einsum1(spec, e))};
}

Tensor Softmax(absl::string_view spec, Tensor x, SourceLocation where) {
  CallScope call("Softmax", spec, {x}, where);
  const DType dtype = DecidedDType(x);
  const auto [e, sum] = PartsOfSoftmax(spec, x, std::nullopt);
  return call.Of(InDType(e / sum, dtype));
}

Tensor MaskedSoftmax(absl::string_view spec, Tensor x, Tensor mask,
                     SourceLocation where) {
  CallScope call("MaskedSoftmax", spec, {x, mask}, where);
  const DType dtype = DecidedDType(x);
  const auto [e, sum] = PartsOfSoftmax(spec, x, mask);
  return call.Of(InDType(e / sum, dtype));
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
