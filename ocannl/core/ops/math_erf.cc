// SPDX-License-Identifier: Apache-2.0
//
// erf: x + x p(x^2) for |x| < 1, beyond that 1 - exp(q(|x|)) with q near to
// log(erfc(x)). Both polynomials are minimax for the relative error of erf,
// which is what "2^-29" beside the coefficients says.
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/math.h"
#include "ocannl/core/ops/math_parts.h"

namespace ocannl {
namespace {

// Degree 6: 2^-29.
constexpr double kNear32[] = {0.128379166,   -0.376126258,  0.112835852,
                              -0.0268538146, 0.00518833048, -0.00080102027,
                              7.85384983e-05};
// Degree 7: 2^-35.
constexpr double kFar32[] = {0.000188458147, -1.12958027,   -0.633216483,
                             -0.108422009,   0.0252102829,  -0.00420526387,
                             0.000441468466, -2.1697262e-05};
// Degree 12: 2^-62.
constexpr double kNear64[] = {
    0.12837916709551259,     -0.37612638903183748,    0.11283791670954858,
    -0.026866170645072959,   0.0052239776247813702,   -0.00085483269787651485,
    0.00012055331037551108,  -1.4925593518728226e-05, 1.6460972954153757e-06,
    -1.6350026192077193e-07, 1.4657883530919173e-08,  -1.1365670671825423e-09,
    5.9452555842207221e-11};
// Degree 18: 2^-59.
constexpr double kFar64[] = {
    -1.7962477457410596e-07, -1.1283773292158341,     -0.63662848915682824,
    -0.10274725138377,       0.019078153343988016,    0.00028049245146265288,
    -0.0017690052826499153,  0.00064117697557305542,  -4.4825572931678911e-05,
    -7.0364819485474941e-05, 4.5036524567641109e-05,  -1.6513624954573774e-05,
    4.3269535129607829e-06,  -8.5055557190184163e-07, 1.257020651142033e-07,
    -1.3626384296271018e-08, 1.0256767527430516e-09,  -4.7959257818497257e-11,
    1.0495970869229545e-12};

}  // namespace

Expr ErfValue(Expr x) {
  const bool is_f32 = x.dtype() == DType::kF32;
  Expr square = x * x;
  Expr p = is_f32 ? Polynomial(square, kNear32) : Polynomial(square, kNear64);
  Expr near = Fma(x, p, x);
  // From there on it is 1.
  Expr size = Min(Abs(x), is_f32 ? 4 : 6);
  Expr q = is_f32 ? Polynomial(size, kFar32) : Polynomial(size, kFar64);
  Expr far = 1 - Exp(q);
  return Select(1 <= Abs(x), Select(x < 0, -far, far), near);
}

}  // namespace ocannl
