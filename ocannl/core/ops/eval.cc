// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/eval.h"

#include <cstring>

#include "ocannl/core/base/check.h"
#include "ocannl/core/base/dtype.h"

namespace ocannl {
namespace {

template <class T>
T Read(const Constant& constant) {
  T value;
  std::memcpy(&value, &constant.bits, sizeof(T));
  return value;
}

template <class T>
Constant Write(DType dtype, T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return FromBits(dtype, bits);
}

// A result of any type of Op on operands of type T.
template <class T>
Constant Convert(DType dtype, T a) {
  return VisitDType(dtype, [&](auto zero) {
    return Write(dtype, number::Convert<decltype(zero)>(a));
  });
}

template <class T>
Constant Bitcast(DType dtype, T a) {
  return VisitDType(dtype, [&](auto zero) {
    if constexpr (sizeof(zero) == sizeof(T)) {
      return Write(dtype, number::Bitcast<decltype(zero)>(a));
    }
    return Constant{};
  });
}

// Calls number::Name with as many operands as the row has.
#define OCANNL_CALL_1(name) number::name(a)
#define OCANNL_CALL_2(name) number::name(a, b)
#define OCANNL_CALL_3(name) number::name(a, b, c)

template <class T>
Constant Eval(Op op, DType dtype, absl::Span<const Constant> args) {
  if (op == Op::kConvert) return Convert(dtype, Read<T>(args[0]));
  if (op == Op::kBitcast) return Bitcast(dtype, Read<T>(args[0]));
  if (op == Op::kSelect) {
    return Read<bool>(args[0]) ? args[1] : args[2];
  }
  [[maybe_unused]] T a = Read<T>(args[0]);
  [[maybe_unused]] T b = Read<T>(args[args.size() > 1 ? 1 : 0]);
  [[maybe_unused]] T c = Read<T>(args[args.size() > 2 ? 2 : 0]);
  switch (op) {
#define DERIVED(...)
#define PRIMITIVE(name, text, arity, typing, ...)                              \
  case Op::k##name:                                                            \
    if constexpr (Op::k##name != Op::kConvert &&                               \
                  Op::k##name != Op::kBitcast && Op::k##name != Op::kSelect && \
                  Fits<T>(Typing::typing)) {                                   \
      return Write(dtype, OCANNL_CALL_##arity(name));                          \
    }                                                                          \
    break;
#include "ocannl/core/ops/ops.def"
#undef PRIMITIVE
#undef DERIVED
    default:
      break;
  }
  CHECK(false) << "no value of " << Info(op).name << " on " << Name(dtype);
  __builtin_unreachable();
}

}  // namespace

Constant EvalPrimitive(Op op, DType dtype, absl::Span<const Constant> args) {
  CHECK(Info(op).primitive) << Info(op).name;
  CHECK_EQ(static_cast<int>(args.size()), Info(op).arity);
  return VisitDType(args.back().dtype, [&](auto zero) {
    return Eval<decltype(zero)>(op, dtype, args);
  });
}

}  // namespace ocannl
