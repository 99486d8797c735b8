// SPDX-License-Identifier: Apache-2.0
#include "ocannl/interp/handlers.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "ocannl/core/base/check.h"
#include "ocannl/core/ops/number.h"
#include "ocannl/core/ops/random.h"
#include "ocannl/core/ops/visit_primitive.h"

namespace ocannl::interp {
namespace {

std::byte* At(uint64_t address) {
  return reinterpret_cast<std::byte*>(address);
}

template <class T>
T Load(uint64_t address) {
  T value;
  std::memcpy(&value, At(address), sizeof(T));
  return value;
}

// Any byte but 0 is true, whoever wrote it.
template <>
bool Load<bool>(uint64_t address) {
  return Load<uint8_t>(address) != 0;
}

template <class T>
void Store(uint64_t address, T value) {
  std::memcpy(At(address), &value, sizeof(T));
}

// *target = F()(*arg0, *arg1, ...) with arguments of types Args.
template <class F, class... Args, size_t... I>
const Instruction* Execute(const Instruction* at, uint64_t* registers,
                           std::index_sequence<I...>) {
  uint64_t target = registers[at->target];
  std::array<uint64_t, sizeof...(Args)> args = {registers[at->args[I]]...};
  for (uint64_t left = at->count; left > 0; --left) {
    Store(target, F()(Load<Args>(args[I])...));
    target += at->target_stride;
    ((args[I] += at->strides[I]), ...);
  }
  return at + 1;
}

template <class... Args, class F>
Handler MakeHandler(F) {
  return [](const Instruction* at, uint64_t* registers, const Loop*) {
    return Execute<F, Args...>(at, registers,
                               std::index_sequence_for<Args...>());
  };
}

template <class T, class Index>
Handler LookupHandler() {
  if constexpr (number::Integer<Index>) {
    return [](const Instruction* at, uint64_t* registers, const Loop*) {
      uint64_t target = registers[at->target];
      uint64_t index = registers[at->args[0]];
      uint64_t cell = registers[at->args[1]];
      const auto size = Load<uint64_t>(registers[at->args[2]]);
      const auto stride = Load<uint64_t>(registers[at->args[2]] + sizeof(size));
      for (uint64_t left = at->count; left > 0; --left) {
        // Unsigned: a negative one is greater than any size.
        const auto row = static_cast<uint64_t>(Load<Index>(index));
        Store(target, row < size ? Load<T>(cell + row * stride) : T());
        target += at->target_stride;
        index += at->strides[0];
        cell += at->strides[1];
      }
      return at + 1;
    };
  }
  return nullptr;
}

template <class T, class Index>
Handler ScatterHandler() {
  if constexpr (number::Integer<Index>) {
    return [](const Instruction* at, uint64_t* registers, const Loop*) {
      uint64_t cell = registers[at->target];
      uint64_t index = registers[at->args[0]];
      uint64_t value = registers[at->args[1]];
      const auto size = Load<uint64_t>(registers[at->args[2]]);
      const auto stride = Load<uint64_t>(registers[at->args[2]] + sizeof(size));
      for (uint64_t left = at->count; left > 0; --left) {
        const auto row = static_cast<uint64_t>(Load<Index>(index));
        if (row < size) Store(cell + row * stride, Load<T>(value));
        cell += at->target_stride;
        index += at->strides[0];
        value += at->strides[1];
      }
      return at + 1;
    };
  }
  return nullptr;
}

// What is behind the key in the slots of a generator.
struct LastBlock {
  std::array<uint32_t, 4> key;
  uint32_t counter = 0;
  uint32_t is_valid = 0;
  std::array<uint32_t, 4> words = {};
};
static_assert(sizeof(LastBlock) == (kDrawSlots - kKeySlots) * sizeof(uint64_t));

template <Op op>
const Instruction* ExecuteDraw(const Instruction* at, uint64_t* registers,
                               const Loop*) {
  uint64_t target = registers[at->target];
  const uint64_t slots = registers[at->args[0]];
  uint64_t counter = registers[at->args[1]];
  uint64_t word = registers[at->args[2]];
  std::array<uint32_t, 4> key;
  for (uint64_t k = 0; k < kKeySlots; ++k) {
    key[k] = Load<uint32_t>(slots + k * sizeof(uint64_t));
  }
  const uint64_t kept = slots + kKeySlots * sizeof(uint64_t);
  auto last = Load<LastBlock>(kept);
  if (last.key != key) last = {.key = key};
  for (uint64_t left = at->count; left > 0; --left) {
    const auto wanted = Load<uint32_t>(counter);
    if (last.is_valid == 0 || last.counter != wanted) {
      last.words = Threefry(VariantOf(op), key, SpreadCounter(wanted));
      last.counter = wanted;
      last.is_valid = 1;
    }
    Store(target, last.words[std::min(Load<uint32_t>(word), 3u)]);
    target += at->target_stride;
    counter += at->strides[1];
    word += at->strides[2];
  }
  Store(kept, last);
  return at + 1;
}

}  // namespace

Handler FindDraw(Op op) {
  CHECK(IsDraw(op)) << Info(op).name;
  return op == Op::kThreefryLight ? ExecuteDraw<Op::kThreefryLight>
                                  : ExecuteDraw<Op::kThreefryCrypto>;
}

Handler FindHandler(Op op, DType result, DType operand) {
  Handler handler = nullptr;
  VisitPrimitive(op, result, operand,
                 [&]<class... Args>(auto f, OperandTypes<Args...>) {
                   handler = MakeHandler<Args...>(f);
                 });
  CHECK(handler != nullptr) << Info(op).name << " of " << Name(operand);
  return handler;
}

Handler FindLookup(DType cell, DType index) {
  return VisitDType(cell, [&](auto zero) {
    return VisitDType(index, [&](auto first) {
      return LookupHandler<decltype(zero), decltype(first)>();
    });
  });
}

Handler FindScatter(DType cell, DType index) {
  return VisitDType(cell, [&](auto zero) {
    return VisitDType(index, [&](auto first) {
      return ScatterHandler<decltype(zero), decltype(first)>();
    });
  });
}

const Instruction* ZeroOutHandler(const Instruction* at, uint64_t* registers,
                                  const Loop*) {
  std::memset(At(registers[at->target]), 0, registers[at->args[0]]);
  return at + 1;
}

const Instruction* EndLoopHandler(const Instruction* at, uint64_t* registers,
                                  const Loop* loops) {
  const Loop& loop = loops[at->target];
  if (registers[loop.counter] < loop.last) {
    for (const RegisterIncrement& increment : loop.increments)
      registers[increment.reg] += increment.amount;
    return at + loop.jump;
  }
  for (const RegisterIncrement& increment : loop.increments) {
    registers[increment.reg] -= increment.amount * loop.last;
  }
  return at + 1;
}

const Instruction* StopHandler(const Instruction*, uint64_t*, const Loop*) {
  return nullptr;
}

}  // namespace ocannl::interp
