// SPDX-License-Identifier: Apache-2.0
//
// Constant folding: the value of one primitive on constants.
#ifndef OCANNL_CORE_OPS_EVAL_H_
#define OCANNL_CORE_OPS_EVAL_H_

#include <concepts>
#include <type_traits>

#include "absl/types/span.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/number.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {

// op(args...) for a primitive `op`; `dtype` is the type of the result.
Constant EvalPrimitive(Op op, DType dtype, absl::Span<const Constant> args);

// Whether operands of C++ type T fit `typing`; the compile-time Accepts().
template <class T>
constexpr bool Fits(Typing typing) {
  switch (typing) {
    case Typing::kNumber:
      return !std::same_as<T, bool> && !kIsNarrow<T>;
    case Typing::kBitcast:
      return !std::same_as<T, bool>;
    case Typing::kInteger:
      return number::Integer<T>;
    case Typing::kFloat:
      return number::Float<T>;
    case Typing::kBits:
      return std::integral<T>;
    case Typing::kWord:
      return std::same_as<T, uint32_t>;
    case Typing::kCompare:
      return !kIsNarrow<T>;
    case Typing::kSelect:
    case Typing::kConvert:
      return true;
  }
  __builtin_unreachable();
}

}  // namespace ocannl

#endif  // OCANNL_CORE_OPS_EVAL_H_
