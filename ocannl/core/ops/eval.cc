// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/eval.h"

#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "ocannl/core/base/check.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/visit_primitive.h"

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

}  // namespace

Constant EvalPrimitive(Op op, DType dtype, absl::Span<const Constant> args) {
  CHECK(Info(op).primitive) << Info(op).name;
  CHECK_EQ(static_cast<int>(args.size()), Info(op).arity);
  std::optional<Constant> value;
  VisitPrimitive(op, dtype, args.back().dtype,
                 [&]<class... Args>(auto f, OperandTypes<Args...>) {
                   [&]<size_t... k>(std::index_sequence<k...>) {
                     value = Write(dtype, f(Read<Args>(args[k])...));
                   }
                   (std::index_sequence_for<Args...>());
                 });
  CHECK(value) << "no value of " << Info(op).name << " on "
               << Name(args.back().dtype);
  return *value;
}

}  // namespace ocannl
