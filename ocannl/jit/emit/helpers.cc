// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/emit/helpers.h"

#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ocannl/core/base/check.h"
#include "ocannl/core/ops/visit_primitive.h"

namespace ocannl::jit {
namespace {

using Helper = void (*)(std::byte* area, int lanes);

// What a lane of a register holds of a T.
template <class T>
using LaneOf =
    std::conditional_t<sizeof(T) == 8, T,
                       std::conditional_t<sizeof(T) == 4, T, uint32_t>>;

template <class T>
T Load(const std::byte* area, int operand, int lane) {
  LaneOf<T> value;
  std::memcpy(&value,
              area + operand * kHelperOperandBytes + lane * sizeof(value),
              sizeof(value));
  if constexpr (kIsNarrow<T>) {
    return T{static_cast<typename T::Bits>(value)};
  } else if constexpr (std::same_as<T, bool>) {
    return value != 0;
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
void Store(std::byte* area, int lane, T value) {
  LaneOf<T> wide;
  if constexpr (kIsNarrow<T>) {
    wide = value.bits;
  } else {
    wide = static_cast<LaneOf<T>>(value);
  }
  std::memcpy(area + 3 * kHelperOperandBytes + lane * sizeof(wide), &wide,
              sizeof(wide));
}

template <class F, class... Args, int... I>
void Execute(std::byte* area, int lanes, std::integer_sequence<int, I...>) {
  for (int lane = 0; lane < lanes; ++lane) {
    Store(area, lane, F()(Load<Args>(area, I, lane)...));
  }
}

template <class... Args, class F>
Helper MakeHelper(F) {
  return [](std::byte* area, int lanes) {
    Execute<F, Args...>(area, lanes,
                        std::make_integer_sequence<int, sizeof...(Args)>());
  };
}

// Null: there is none.
Helper FindHelper(Op op, DType result, DType operand) {
  Helper helper = nullptr;
  VisitPrimitive(op, result, operand,
                 [&]<class... Args>(auto f, OperandTypes<Args...>) {
                   helper = MakeHelper<Args...>(f);
                 });
  return helper;
}

}  // namespace

uint32_t HelperNumber(Op op, DType result, DType operand) {
  CHECK(FindHelper(op, result, operand) != nullptr)
      << Info(op).name << " of " << Name(operand);
  return static_cast<uint32_t>(op) << 16 | static_cast<uint32_t>(result) << 8 |
         static_cast<uint32_t>(operand);
}

void RunHelper(std::byte* area, int lanes, uint32_t number) {
  FindHelper(static_cast<Op>(number >> 16),
             static_cast<DType>(number >> 8 & 0xff),
             static_cast<DType>(number & 0xff))(area, lanes);
}

}  // namespace ocannl::jit
