// SPDX-License-Identifier: Apache-2.0
//
// DecomposePhases: the polyphase decomposition of a transposed convolution (the
// gradient of a strided one), as in sub-pixel convolution (Shi et al. 2016). It
// makes one unit-stride correlation for each phase of the stride, and so turns
// a scatter of terms into a gather:
//
//   x[2*o + k] += f(y[o], w[k])    for each window o, each cell k of it
//     ->
//   x[2*u]     += f(y[u - j], w[2*j])        phase 0: for each cell, each
//   x[2*u + 1] += f(y[u - j], w[2*j + 1])    phase 1: window that it is in
//
// Windows overlap, so that no order of their loops keeps a sum in a register;
// cells do not. Disjoint windows, as of most pools, have no such sums and stay
// one nest, if none leaves the array. Windows outside of y must add 0: f is 0
// where y is, and y is read as 0 outside.
#ifndef OCANNL_CORE_INDEX_POLYPHASE_H_
#define OCANNL_CORE_INDEX_POLYPHASE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/index/projections.h"

namespace ocannl {

// The terms of `sum`, in order. Operand number `windows`, of dims
// `window_dims`, is y; lhs has the dims `dims`. Axes of lhs that are not
// windows of y stay unchanged, and so do disjoint windows, and windows with
// both a stride and a dilation. If there would be more than 16 phases, all axes
// stay unchanged.
std::vector<Projections> DecomposePhases(const Projections& sum, size_t windows,
                                         absl::Span<const int64_t> dims,
                                         absl::Span<const int64_t> window_dims);

}  // namespace ocannl

#endif  // OCANNL_CORE_INDEX_POLYPHASE_H_
