// SPDX-License-Identifier: Apache-2.0
//
// Fills: what the buffers of a trial hold before it. A value depends on the
// seed, the buffer's name and the cell, not on the other buffers, so a program
// that loses some of its buffers keeps the values of the rest.
#ifndef OCANNL_FUZZ_FILL_H_
#define OCANNL_FUZZ_FILL_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/ops/expr.h"

namespace ocannl::fuzz {

enum class FillKind : uint8_t {
  kUnit,           // [-1, 1)
  kSmallIntegers,  // every sum and product is exact
  kLogUniform,     // every magnitude as likely
  kZoo,            // the cases of IEEE and of two's complement
};

// The kind that trials of this seed use: mostly one of the first two.
FillKind KindOf(uint64_t seed);

NdArray FillBuffer(const Buffer& buffer, FillKind kind, uint64_t seed);

// A value in its range for every static index.
std::vector<int64_t> FillStatics(const LoopProgram& program, uint64_t seed);

// The cases of a dtype: zeros of both signs, infinities, NaNs of several bits,
// the canonical one last, denormals, halves, the least and the greatest of
// every integer type, and neighbours.
absl::Span<const Constant> Zoo(DType dtype);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_FILL_H_
