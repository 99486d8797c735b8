// SPDX-License-Identifier: Apache-2.0
//
// VisitPrimitive: the function of number.h that a primitive is on operands of a
// dtype, for whoever runs it in a way of its own.
//
//   VisitPrimitive(Op::kSelect, DType::kF32, DType::kF32,
//                  []<class... Args>(auto f, OperandTypes<Args...>) {
//                    ...   // f is number::Select, Args are bool, float, float
//                  });
#ifndef OCANNL_CORE_OPS_VISIT_PRIMITIVE_H_
#define OCANNL_CORE_OPS_VISIT_PRIMITIVE_H_

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/narrow_float.h"
#include "ocannl/core/ops/number.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {

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

template <class... Args>
struct OperandTypes {};

// Calls visit(f, OperandTypes<Args...>()). f is a function object without state
// that takes the Args and returns a value of type `result`. `operand` is the
// type of the operands; for a select, of the last two. Does nothing if `op` is
// not a primitive or not defined on such operands.
template <class Visit>
void VisitPrimitive(Op op, DType result, DType operand, Visit visit) {
  auto convert = [&]<class From>(From) {
    VisitDType(result, [&]<class To>(To) {
      if (op == Op::kConvert) {
        visit([](From a) { return number::Convert<To>(a); },
              OperandTypes<From>());
      } else if constexpr (sizeof(From) == sizeof(To)) {
        visit([](From a) { return number::Bitcast<To>(a); },
              OperandTypes<From>());
      }
    });
  };
#define OCANNL_VISIT_1(name) \
  visit([](T a) { return number::name(a); }, OperandTypes<T>())
#define OCANNL_VISIT_2(name) \
  visit([](T a, T b) { return number::name(a, b); }, OperandTypes<T, T>())
#define OCANNL_VISIT_3(name)                                 \
  visit([](T a, T b, T c) { return number::name(a, b, c); }, \
        OperandTypes<T, T, T>())
  VisitDType(operand, [&]<class T>(T zero) {
    switch (op) {
      case Op::kConvert:
      case Op::kBitcast:
        return convert(zero);
      case Op::kSelect:
        return visit([](bool c, T a, T b) { return number::Select(c, a, b); },
                     OperandTypes<bool, T, T>());
      default:
        break;
    }
    switch (op) {
#define DERIVED(...)
#define PRIMITIVE(name, text, arity, typing, ...)       \
  case Op::k##name:                                     \
    if constexpr (Typing::typing != Typing::kSelect &&  \
                  Typing::typing != Typing::kConvert && \
                  Typing::typing != Typing::kBitcast && \
                  Fits<T>(Typing::typing)) {            \
      OCANNL_VISIT_##arity(name);                       \
    }                                                   \
    break;
#include "ocannl/core/ops/ops.def"
#undef PRIMITIVE
#undef DERIVED
      default:
        break;
    }
  });
#undef OCANNL_VISIT_1
#undef OCANNL_VISIT_2
#undef OCANNL_VISIT_3
}

}  // namespace ocannl

#endif  // OCANNL_CORE_OPS_VISIT_PRIMITIVE_H_
