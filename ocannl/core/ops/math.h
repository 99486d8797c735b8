// SPDX-License-Identifier: Apache-2.0
//
// The algorithms behind the transcendental rows of ops.def, written with
// primitives so that every tier computes the same bits.
//
// Each takes f32 or f64 and follows C's Annex F for special values. Measured,
// in units of the last place. `ops` counts primitives, bit casts too, but not
// those that machine code skips where no lane needs them:
//
//            f32, all 2^32 numbers                          f64, samples
//            max     at                 not nearest   ops   max     ops
//   exp      0.894    0x1.4cec68p+2     0.25 %         25   0.911    30
//   exp2     0.952   -0x1.fbe9f6p-2     0.29 %         24   0.944    29
//   log      0.881    0x1.4852d8p+0     0.31 %         23   1.004    34
//   log1p    0.881    0x1.214b60p-2     0.43 %         39   0.986    50
//   log2     0.950    0x1.689b86p-1     0.27 %         34   1.060    45
//   log10    0.966    0x1.553bfap-1     0.29 %         35   1.039    46
//   expm1    0.822    0x1.6ec31ep-2     0.10 %         37   1.022    43
//   sinh     0.881    0x1.fe394ap+2     0.06 %         47   0.739    53
//   cosh     0.729    0x1.155e6ap+3     0.06 %         38   0.810    44
//   tanh     1.154    0x1.f98d72p-1     0.12 %         28   1.099    39
//   sigmoid  1.380   -0x1.2426d2p+4     2.12 %         24   1.37     29
//   silu     0.991   -0x1.4cd6e6p+2     0.12 %         44   0.977    49
//   softplus 1.647   -0x1.8141c2p-9     3.20 %         30   1.75     35
//   asinh    0.869    0x1.003cdep-1     0.33 %         66   0.910    84
//   acosh    0.855    0x1.8aa6aap+0     0.14 %         63   0.842    81
//   atanh    0.812    0x1.d91bb6p-2     0.05 %         50   0.777    55
//   erf      1.097    0x1.0f5e16p+0     0.70 %         44   1.056    66
//   sin      0.501    0x1.79d77p+4      0.01 % *       21   0.807   167
//   cos      0.501    0x1.a1e1f2p-5     0.01 % *       23   0.809   164
//   tan      0.502    0x1.fc8b9cp+9     0.04 % *       26   1.161   188
//   asin     0.637    0x1.0547c4p-1     0.02 %         40   0.637    47
//   acos     0.631    0x1.178412p-1     0.01 %         38   0.618    45
//   atan     0.934    0x1.8ea4c6p+0     0.12 %         34   0.834    41
//   cbrt     0.502    0x1.ca06bap+125   0.02 %         37   0.503    40
//   rsqrt    1.490    0x1.019566p-126  13.00 %          2   1.480     2
//   gelu     1.900   -0x1.19e54ep+1     0.49 %         50   1.732    65
//   gelu_tanh 1.615  -0x1.642166p+0     0.34 %         52   1.530    57
//   pow      0.501   (4e6 pairs)        0.00 %         57   1.048   130
//   atan2    0.861   (5e8 pairs)        0.40 %         64   0.831    71
//   hypot    0.743   (7e7 pairs)        1.21 %         37   0.527    37
//
// * All numbers below 2^30, and 2^23 others.
//
// Errors beyond 1 in f64 are those of sums of long polynomials, in which each
// step rounds: the logarithms, expm1, and tan, which has two. The error of
// hypot is beyond 0.57 only where the result is denormal and so rounded twice.
//
// Cycles of a core with AVX-512 for 16 numbers of f32, 0.6 to 0.7 for each op
// (function/ of experiments/bench): exp 11, log 12, sigmoid, tanh 15, softplus,
// atan, cbrt, log10 18, asin, hypot, expm1, cosh, acos 20, sin, sinh 22, atanh
// 24, erf 28, atan2, asinh 33, gelu 35, acosh 36, tan 40, pow 71.
// Functions beyond 20 keep the second part of a remainder, a root or a
// quotient, or use f64; otherwise they would be beyond 1 ulp.
//
// Tests hold the functions to bounds a little above
// (tests/support/math_accuracy.h).
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
Expr SiluValue(Expr x);
Expr SoftplusValue(Expr x);
Expr ErfValue(Expr x);
Expr GeluValue(Expr x);
Expr GeluTanhValue(Expr x);
Expr PowValue(Expr x, Expr y);
Expr Expm1Value(Expr x);
Expr Log10Value(Expr x);
Expr SinhValue(Expr x);
Expr CoshValue(Expr x);
Expr AsinhValue(Expr x);
Expr AcoshValue(Expr x);
Expr AtanhValue(Expr x);
Expr TanValue(Expr x);
Expr AsinValue(Expr x);
Expr AcosValue(Expr x);
Expr AtanValue(Expr x);
Expr Atan2Value(Expr y, Expr x);
Expr CbrtValue(Expr x);
Expr HypotValue(Expr x, Expr y);

// c / (a^2 + b^2), or 0 where that is c / 0.
Expr Atan2Slope(Expr c, Expr a, Expr b);

// The derivatives of the gelus.
Expr GeluSlope(Expr x);
Expr GeluTanhSlope(Expr x);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPS_MATH_H_
