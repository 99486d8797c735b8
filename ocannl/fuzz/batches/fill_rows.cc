// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/batches/fill_rows.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"

namespace ocannl::fuzz {
namespace {

// The finaliser of splitmix64 (Steele, Lea and Flood, 2014).
uint64_t Mixed(uint64_t bits) {
  bits += 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

// The sum of four uniform numbers, of variance 1.
float Normal(uint64_t bits) {
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    sum += static_cast<float>(static_cast<int16_t>(bits >> (16 * k)));
  }
  return sum * (1.7320508F / 65536);
}

float SignedZero(uint64_t bits) { return bits % 2 == 0 ? 0.0F : -0.0F; }

float Draw(BatchFill fill, uint64_t bits) {
  const float normal = Normal(Mixed(bits));
  switch (fill) {
    case BatchFill::kNormal:
      return normal;
    case BatchFill::kSubnormal: {
      if (bits % 2 == 0) return normal;
      const float tiny =
          std::bit_cast<float>(static_cast<uint32_t>(bits >> 41));
      return std::copysign(tiny, normal);
    }
    case BatchFill::kZeros:
      return bits % 4 == 0 ? normal : SignedZero(bits >> 2);
    case BatchFill::kWide:
      return std::ldexp(normal, static_cast<int>(bits % 41) - 20);
    case BatchFill::kNonFinite:
      if (bits % 16 != 0) return normal;
      if (bits % 32 == 0) return std::numeric_limits<float>::quiet_NaN();
      return std::copysign(std::numeric_limits<float>::infinity(), normal);
  }
  __builtin_unreachable();
}

}  // namespace

void FillRows(const BatchCase& one, absl::string_view name, const Batch& batch,
              std::optional<size_t> row_axis, NdArray& array) {
  uint64_t seed = one.seed;
  for (char c : name) seed = Mixed(seed ^ static_cast<uint8_t>(c));
  // Some operands are of the plain kind beside others that are not.
  const BatchFill fill = seed % 4 == 0 ? BatchFill::kNormal : one.fill;
  const auto operand = absl::c_find_if(
      one.operands, [&](const BatchOperand& o) { return o.name == name; });
  const BatchPadding padding =
      operand == one.operands.end() ? BatchPadding::kAny : operand->padding;
  const int64_t num_rows =
      row_axis ? static_cast<int64_t>(batch.rows.size()) : 1;
  int64_t inner = array.size() / num_rows;
  if (row_axis && !batch.alone) {
    inner = 1;
    for (size_t k = *row_axis + 1; k < array.dims().size(); ++k) {
      inner *= array.dims()[k];
    }
  }
  absl::Span<float> cells = array.values<float>();
  for (int64_t cell = 0; cell < array.size(); ++cell) {
    const int64_t outer = cell / (num_rows * inner);
    const int64_t row = row_axis ? batch.rows[cell / inner % num_rows] : 0;
    const auto place = static_cast<uint64_t>(outer * inner + cell % inner);
    const uint64_t bits = Mixed(Mixed(seed + row) + place);
    const bool pads = row_axis && one.property == BatchProperty::kTerms &&
                      row >= static_cast<int64_t>(one.batches[0].rows.size());
    if (padding == BatchPadding::kMask) {
      cells[cell] = pads ? 0 : 1;
    } else if (pads && padding == BatchPadding::kZero) {
      cells[cell] = SignedZero(bits);
    } else {
      // What is not finite stays out of padding.
      cells[cell] = Draw(pads ? BatchFill::kNormal : fill, bits);
    }
  }
}

}  // namespace ocannl::fuzz
