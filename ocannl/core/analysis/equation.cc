// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/analysis/equation.h"

#include <cstdlib>
#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "ocannl/core/index/division.h"

namespace ocannl {
namespace {

// `terms` ascend by the size of their factors, none of which is 0.
//
// Mixed radix: if all factors from some term on are multiples of g (GCD test),
// and the bounds of the terms before it (Banerjee) contain one multiple of g,
// those terms sum up to it and there are two smaller equations; if none, no
// solution.
bool HasSolutionSorted(absl::Span<const BoundedTerm> terms, int64_t constant) {
  int64_t least = constant;  // of the constant and the first k terms
  int64_t greatest = constant;
  for (size_t k = 0; k < terms.size(); ++k) {
    int64_t g = 0;
    for (const BoundedTerm& term : terms.subspan(k)) {
      g = std::gcd(g, term.factor);
    }
    const int64_t multiple = FloorDiv(greatest, g) * g;
    if (multiple < least) return false;
    if (k > 0 && multiple - g < least) {
      return HasSolutionSorted(terms.first(k), constant - multiple) &&
             HasSolutionSorted(terms.subspan(k), multiple);
    }
    const auto& [factor, from, to] = terms[k];
    least += factor * (factor > 0 ? from : to);
    greatest += factor * (factor > 0 ? to : from);
  }
  return least <= 0 && 0 <= greatest;
}

}  // namespace

bool HasSolution(std::vector<BoundedTerm> terms, int64_t constant) {
  for (const BoundedTerm& term : terms) {
    if (term.least > term.greatest) return false;
  }
  // A term of one value is a constant.
  std::vector<BoundedTerm> moving;
  for (const BoundedTerm& term : terms) {
    if (term.least == term.greatest) {
      constant += term.factor * term.least;
    } else if (term.factor != 0) {
      moving.push_back(term);
    }
  }
  absl::c_sort(moving, [](const BoundedTerm& a, const BoundedTerm& b) {
    return std::abs(a.factor) < std::abs(b.factor);
  });
  return HasSolutionSorted(moving, constant);
}

}  // namespace ocannl
