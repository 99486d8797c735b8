// SPDX-License-Identifier: Apache-2.0
//
// How exact the transcendental rows of ops.def are: the bounds that are
// promised, and what measures them. For tests and for the op reference.
#ifndef TESTS_SUPPORT_MATH_ACCURACY_H_
#define TESTS_SUPPORT_MATH_ACCURACY_H_

#include <cstdint>

#include "absl/types/span.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {

// The promised greatest errors in ulps: over all f32, which
// math_exhaustive_test proves for one operand, and over samples of f64.
struct AccuracyBound {
  Op op;
  double f32;
  double f64;
};

absl::Span<const AccuracyBound> AccuracyBounds();

// The value of `op` as libm gives it, with more digits than T has: `double`
// for float, `long double` for double. The second operand is that of pow,
// atan2 and hypot.
double Reference(Op op, float x, float y);
long double Reference(Op op, double x, double y);

// The distance of `y` from `exact` in units of the last place of a number of
// y's type that is as great as `exact`. Infinite if they differ in being NaN or
// in sign, or if `exact` is 0 or infinite and y is not.
double UlpError(float y, double exact);
double UlpError(double y, long double exact);

// The errors of many values.
template <class T>
struct Accuracy {
  double max_ulp = 0;
  T worst_x = 0;
  T worst_y = 0;
  int64_t count = 0;
  int64_t not_nearest = 0;  // values that are not the T nearest to the exact

  template <class Wide>
  void Add(T x, T y, T value, Wide exact) {
    const double error = UlpError(value, exact);
    ++count;
    if (error > 0 && value != static_cast<T>(exact)) ++not_nearest;
    if (error <= max_ulp) return;
    max_ulp = error;
    worst_x = x;
    worst_y = y;
  }

  void Merge(const Accuracy& other) {
    count += other.count;
    not_nearest += other.not_nearest;
    if (other.max_ulp <= max_ulp) return;
    max_ulp = other.max_ulp;
    worst_x = other.worst_x;
    worst_y = other.worst_y;
  }
};

}  // namespace ocannl

#endif  // TESTS_SUPPORT_MATH_ACCURACY_H_
