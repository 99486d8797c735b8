// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/fill.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/ops/number.h"
#include "ocannl/fuzz/programs/random.h"

namespace ocannl::fuzz {
namespace {

// As `value` is, if it is a NaN too.
template <class T>
Constant ConstantOf(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return {DTypeOf<T>(), bits};
}

// All numbers of 8 bits, every 97th of 16.
template <class T>
std::vector<Constant> MakeNarrowZoo() {
  std::vector<Constant> zoo;
  const int step = sizeof(T) == 1 ? 1 : 97;
  for (int bits = 0; bits < 1 << (8 * sizeof(T)); bits += step) {
    zoo.push_back(ConstantOf(T{static_cast<typename T::Bits>(bits)}));
  }
  zoo.push_back(ConstantOf(T{T::kBeyond}));
  zoo.push_back(ConstantOf(T{T::kNaN}));
  return zoo;
}

template <class T>
std::vector<Constant> MakeZoo() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {T(0), T(1)};
  if constexpr (std::is_floating_point_v<T>) {
    for (T value :
         {T(0), T(0.5), T(1), T(1.5), T(2.5), std::nextafter(T(0.5), T(0)),
          std::nextafter(T(1), T(2)), T(3), T(1e-3), T(88.7), T(127), T(128),
          T(255), T(256), T(0x1p23) - T(0.5), T(0x1p24) + T(2), T(0x1p31),
          std::nextafter(T(0x1p31), T(0)), T(0x1p32), T(0x1p52) + T(0.5),
          T(0x1p63), std::nextafter(T(0x1p63), T(0)), T(0x1p64),
          // Between neighbours of 8 and 16 bits.
          T(65519.9), T(65520), T(0x1p-25), T(0x1.000002p-25), T(0x1.8p-24),
          T(0x1.01p0), T(0x1.03p0), T(0x1.ffp127), T(464), T(465), T(0x1p-10),
          T(61440), T(0x1p-17), T(0x1.002p0), T(0x1.006p0), Limits::max(),
          Limits::min(), Limits::denorm_min(), Limits::min() / 3,
          std::sqrt(Limits::max()), Limits::epsilon(), Limits::infinity()}) {
      values.push_back(value);
      values.push_back(-value);
    }
    values.push_back(-Limits::quiet_NaN());
    values.push_back(Limits::signaling_NaN());
    values.push_back(Limits::quiet_NaN());
  } else if constexpr (!std::is_same_v<T, bool>) {
    for (uint64_t value :
         {2, 3, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 255, 1000}) {
      values.push_back(T(value));
      values.push_back(T(0 - value));
    }
    values.push_back(T(-1));
    for (T value : {Limits::min(), Limits::max(), T(Limits::max() / 2 + 1)}) {
      values.push_back(value);
      values.push_back(number::Add(value, T(1)));
      values.push_back(number::Sub(value, T(1)));
    }
    values.push_back(T(uint64_t{1} << 31));
    values.push_back(T((uint64_t{1} << 31) - 1));
    values.push_back(T(0x0123456789abcdef));
  }
  std::vector<Constant> zoo;
  for (T value : values) zoo.push_back(ConstantOf(value));
  return zoo;
}

template <class T>
std::vector<Constant> MakeZooOf() {
  if constexpr (kIsNarrow<T>) {
    return MakeNarrowZoo<T>();
  } else {
    return MakeZoo<T>();
  }
}

template <class T>
Constant LogUniform(Random& random) {
  if constexpr (std::is_floating_point_v<T> || kIsNarrow<T>) {
    const double value = std::exp2(random.Between(-20, 20));
    return ConstantOf(number::Convert<T>(random.OneIn(2) ? value : -value));
  } else {
    uint64_t bits = random.Bits() >> random.Below(64);
    return ConstantOf(number::Convert<T>(random.OneIn(2) ? bits : 0 - bits));
  }
}

template <class T>
Constant Draw(FillKind kind, Random& random) {
  switch (kind) {
    case FillKind::kUnit:
      if constexpr (std::is_floating_point_v<T> || kIsNarrow<T>) {
        return ConstantOf(number::Convert<T>(random.Between(-1, 1)));
      }
      [[fallthrough]];
    case FillKind::kSmallIntegers:
      return ConstantOf(number::Convert<T>(random.Below(17) - 8));
    case FillKind::kLogUniform:
      return LogUniform<T>(random);
    case FillKind::kZoo: {
      absl::Span<const Constant> zoo = Zoo(DTypeOf<T>());
      return random.OneIn(4) ? Draw<T>(FillKind::kUnit, random)
                             : zoo[random.Below(zoo.size())];
    }
  }
  __builtin_unreachable();
}

uint64_t SeedOf(absl::string_view name, uint64_t seed) {
  for (char c : name) seed = seed * 0x9e3779b97f4a7c15 + c;
  return seed;
}

}  // namespace

FillKind KindOf(uint64_t seed) {
  constexpr FillKind kKinds[] = {
      FillKind::kUnit,          FillKind::kUnit,
      FillKind::kUnit,          FillKind::kSmallIntegers,
      FillKind::kSmallIntegers, FillKind::kLogUniform,
      FillKind::kZoo,           FillKind::kZoo};
  Random random(seed);
  return random.Pick(kKinds);
}

NdArray FillBuffer(const Buffer& buffer, FillKind kind, uint64_t seed) {
  NdArray array(buffer.dtype, buffer.dims);
  Random random(SeedOf(buffer.name, seed));
  const size_t size = SizeOf(buffer.dtype);
  VisitDType(buffer.dtype, [&](auto zero) {
    for (int64_t k = 0; k < array.size(); ++k) {
      Constant value = Draw<decltype(zero)>(kind, random);
      std::memcpy(array.data() + k * size, &value.bits, size);
    }
  });
  return array;
}

std::vector<int64_t> FillStatics(const LoopProgram& program, uint64_t seed) {
  std::vector<int64_t> values;
  for (const StaticIndex& index : program.statics) {
    Random random(SeedOf(index.name, seed));
    int64_t range = index.range == kUnranged ? 1000 : index.range;
    values.push_back(random.OneIn(3) ? range - 1 : random.Below(range));
  }
  return values;
}

absl::Span<const Constant> Zoo(DType dtype) {
  static const auto* zoos = new std::vector<std::vector<Constant>>{
#define OCANNL_ZOO(name, text, type) MakeZooOf<type>(),
      OCANNL_DTYPES(OCANNL_ZOO)
#undef OCANNL_ZOO
  };
  return (*zoos)[static_cast<size_t>(dtype)];
}

}  // namespace ocannl::fuzz
