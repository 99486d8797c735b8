// SPDX-License-Identifier: Apache-2.0
//
// The algorithms behind the transcendental rows of ops.def, written with
// primitives so that every tier computes the same bits.
//
// Each takes f32 or f64 and follows C's Annex F for special values. Measured,
// in units of the last place; `ops` counts primitives but bit casts:
//
//            f32, all 2^32 numbers                          f64, 4e7 numbers
//            max     at                 not nearest   ops   max     ops
//   exp      0.894    0x1.4cec68p+2     0.25 %         18   0.911    23
//   exp2     0.952   -0x1.fbe9f6p-2     0.29 %         17   0.944    22
//   log      0.881    0x1.4852d8p+0     0.31 %         30   1.004    41
//   log1p    0.881    0x1.214b60p-2     0.43 %         36   0.986    47
//   log2     0.950    0x1.689b86p-1     0.27 %         31   1.060    42
//   tanh     1.213    0x1.40b402p-1     0.17 %         29   1.235    40
//   sigmoid  1.095   -0x1.04a2dap+4     0.16 %         32   1.078    37
//   sin      0.502    0x1.7708fcp+8     0.02 %         62   0.807   160
//   cos      0.502    0x1.93b262p+126   0.02 %         60   0.809   158
//   pow      0.500   (4e7 pairs)        0.00 %         93   1.048   116
//
// Tests hold the functions to bounds a little above (tests/math_accuracy.h).
#ifndef OCANNL_CORE_OPS_MATH_H_
#define OCANNL_CORE_OPS_MATH_H_

#include "ocannl/core/ops/expr.h"

namespace ocannl {

Expr ExpValue(Expr x);
Expr Exp2Value(Expr x);
Expr LogValue(Expr x);
Expr Log1pValue(Expr x);
Expr Log2Value(Expr x);
Expr SinValue(Expr x);
Expr CosValue(Expr x);
Expr TanhValue(Expr x);
Expr SigmoidValue(Expr x);
Expr PowValue(Expr x, Expr y);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPS_MATH_H_
