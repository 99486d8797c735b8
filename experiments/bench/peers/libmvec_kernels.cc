// SPDX-License-Identifier: Apache-2.0
//
// BUILD compiles this file with flags of its own.
#include "experiments/bench/peers/libmvec_kernels.h"

#include <math.h>

namespace ocannl {
namespace {

#define OCANNL_MAP(name, value)                        \
  void name(int64_t n, const float* from, float* to) { \
    const float* __restrict__ p = from;                \
    float* __restrict__ q = to;                        \
    for (int64_t i = 0; i < n; ++i) {                  \
      const float x = p[i];                            \
      q[i] = value;                                    \
    }                                                  \
  }
OCANNL_MAP(ExpOf, expf(x))
OCANNL_MAP(LogOf, logf(x))
OCANNL_MAP(TanhOf, tanhf(x))
OCANNL_MAP(SigmoidOf, 1.f / (1.f + expf(-x)))
OCANNL_MAP(SinOf, sinf(x))
OCANNL_MAP(CosOf, cosf(x))
OCANNL_MAP(SqrtOf, sqrtf(x))
OCANNL_MAP(SoftplusOf, fmaxf(x, 0.f) + log1pf(expf(-fabsf(x))))
#undef OCANNL_MAP

}  // namespace

const LibmvecFunction kLibmvecFunctions[kLibmvecCount] = {
    {"exp", ExpOf}, {"log", LogOf}, {"tanh", TanhOf}, {"sigmoid", SigmoidOf},
    {"sin", SinOf}, {"cos", CosOf}, {"sqrt", SqrtOf}, {"softplus", SoftplusOf},
};

}  // namespace ocannl
