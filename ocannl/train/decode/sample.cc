// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/decode/sample.h"

#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/tensor/arrange.h"
#include "ocannl/core/tensor/indexing.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/call.h"

namespace ocannl::train {
namespace {

constexpr uint32_t kSign = 0x80000000;

// Whole numbers in the order of the floats: sign and magnitude become one
// scale.
Tensor Ordered(Tensor x) {
  Tensor bits = Bitcast(x + 0, DType::kU32);  // of -0 those of 0
  Tensor negative = Sub(0, Shr(bits, 31));
  return Xor(bits, Or(negative, kSign));
}

// Whether each number is one of the `k` greatest, or equals one.
Tensor IsGreat(Tensor x, int64_t k) {
  Tensor keys = Ordered(x);
  // The greatest number that k keys reach: the least of the k greatest keys.
  Tensor least = Convert(Number(*x.graph, 0), DType::kU32);
  for (int bit = 31; bit >= 0; --bit) {
    Tensor tried = Or(least, 1u << bit);
    Tensor reached = Convert(LessEqual(tried, keys), DType::kI32);
    Tensor enough = LessEqual(k, Einsum1("...|v => ...|0", reached));
    least = Select(enough, tried, least);
  }
  return LessEqual(least, keys);
}

}  // namespace

Tensor Sample(Tensor logits, const SampleOptions& options, Tensor counter,
              SourceLocation where) {
  const auto& [temperature, top_k] = options;
  CallScope call("Sample", "", {logits}, where);
  if (!(temperature >= 0) || top_k < 0) {
    return ErrorTensor(
        *logits.graph,
        absl::InvalidArgumentError(absl::StrCat(
            "sampling with temperature ", NumberText(temperature),
            " and the greatest ", top_k, "; neither may be below 0")),
        where);
  }
  Tensor x = InDType(logits, DType::kF32);
  if (temperature > 0) {
    Tensor gumbel = -Log(-Log(Uniform(*x.graph, {.counter = counter})));
    Tensor drawn = x + Mul(temperature, gumbel);
    x = top_k == 0 ? drawn
                   : Select(IsGreat(x, top_k), drawn,
                            -std::numeric_limits<double>::infinity());
  }
  return call.Of(ArgMax("...|v", x));
}

}  // namespace ocannl::train
