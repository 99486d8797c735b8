// SPDX-License-Identifier: Apache-2.0
//
// ContractionOrder: the contraction path of an einsum of many arrays: the order
// in which they are multiplied two at a time.
//
//   a[i,j] * b[j,k] * c[k,l] * d[l]  over j, k, l
//     ->   c * d over l,   b * (c * d) over k,   a * (...) over j
//
// A loop is summed in the first step after which neither another array nor the
// result has it. The cost of a step is the number of its products: the points
// of all loops of its two arrays. Each loop of the result counts as kOneSize
// there, and so does the outermost loop that is summed. So a row of the result
// has the same bits in every batch, and the gradient of a weight too where rows
// of zeros are appended.
#ifndef OCANNL_CORE_INDEX_CONTRACTION_ORDER_H_
#define OCANNL_CORE_INDEX_CONTRACTION_ORDER_H_

#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/base/containers/id.h"
#include "ocannl/core/index/projections.h"

namespace ocannl {

// Whether an array's indices have loop k, for each k.
using LoopSet = IdVector<IteratorId, bool>;

// What such a loop counts as, whatever its extent: the size of a batch or a
// layer of middle size.
inline constexpr int64_t kOneSize = 64;

// The factors of a step are those of the product, from 0, and then what the
// steps before make.
struct ContractionStep {
  int left;
  int right;     // negative: what the step sums is `left` alone
  LoopSet kept;  // the loops of what it makes

  friend bool operator==(const ContractionStep&,
                         const ContractionStep&) = default;
};

// Up to so many factors n, the order is optimal; the search looks at all 3^n
// splits of subsets. To measure: `bazel run //experiments:bench --
// --filter=einsum/`.
inline constexpr int kMostOrderedFactors = 8;

// The steps of the product of `factors` over loops of `extents`; the last step
// makes an array over the loops of `result` only. Loops of one factor alone are
// summed first. Up to kMostOrderedFactors factors, the order has the least
// total cost, by dynamic programming over subsets of the factors. Selinger et
// al. order joins this way (Access path selection in a relational database
// management system, 1979). Lam, Sadayappan and Wenger order products (On
// optimizing a class of multi-dimensional loops with reductions for parallel
// execution, 1997). For more factors the problem is NP-hard. The next step is
// then greedily the one that leaves the fewest cells, and of those the
// cheapest. The order of the factors breaks ties. CHECK-fails without factors.
std::vector<ContractionStep> ContractionOrder(const LoopExtents& extents,
                                              absl::Span<const LoopSet> factors,
                                              const LoopSet& result);

}  // namespace ocannl

#endif  // OCANNL_CORE_INDEX_CONTRACTION_ORDER_H_
