// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/softmax.h"

#include <cmath>
#include <limits>

#include "ocannl/train/blocks/call.h"

namespace ocannl::train {
namespace {

bool HasInfinity(DType dtype) {
  return VisitDType(dtype, [](auto zero) {
    if constexpr (kIsNarrow<decltype(zero)>)
      return decltype(zero)::kHasInfinity;
    return true;
  });
}

// Below all numbers that matter, and not rounded to an infinity when stored:
// of the greatest exponent, with two bits of the fraction.
double Lowest(DType dtype) {
  return VisitDType(dtype, [](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsNarrow<T>) {
      if (T::kExponentBits < 8) return -std::ldexp(1.75, T::kMaxExponent);
    }
    return -3e38;
  });
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
  const DType dtype = x.node().dtype;
  const double lowest = Lowest(dtype);
  const bool has_infinity = HasInfinity(dtype);
  Tensor seen =
      Select(mask, x,
             has_infinity ? -std::numeric_limits<double>::infinity() : lowest);
  // Finite, so that nothing is the difference of infinities.
  Tensor most = Max(lowest, EinMax1(spec, seen));
  Tensor e = Exp(seen - StopGradient(most));
  if (!has_infinity) e = Select(mask, e, 0);
  // The sum is at least 1, or 0 where nothing is seen.
  return call.Of(e / Max(0.5, Einsum1(spec, e)));
}

Tensor LogSoftmax(absl::string_view spec, Tensor x, SourceLocation where) {
  CallScope call("LogSoftmax", spec, {x}, where);
  Tensor shifted = x - StopGradient(EinMax1(spec, x));
  return call.Of(shifted - Log(Einsum1(spec, Exp(shifted))));
}

}  // namespace ocannl::train
