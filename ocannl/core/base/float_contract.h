// SPDX-License-Identifier: Apache-2.0
//
// Refuses compilers that would change the bits of floating-point arithmetic:
// included by every header that does any.
//
// GCC contracts a * b + c to one fused multiply-add wherever the processor has
// one, unless -ffp-contract=off forbids it; no macro of the compiler tells, so
// whoever passes that flag says it with another one (tools/cc.bzl; an
// installed copy passes both by pkg-config and CMake).
#ifndef OCANNL_CORE_BASE_FLOAT_CONTRACT_H_
#define OCANNL_CORE_BASE_FLOAT_CONTRACT_H_

#include <cfloat>

#if defined(__FAST_MATH__)
#error "ocannl: -ffast-math changes results; compile without it"
#endif

#if defined(__FMA__) && !defined(OCANNL_FP_CONTRACT_OFF)
#error "ocannl: compile with -ffp-contract=off -DOCANNL_FP_CONTRACT_OFF"
#endif

static_assert(FLT_EVAL_METHOD == 0,
              "ocannl: float and double must be computed in their own types");

#endif  // OCANNL_CORE_BASE_FLOAT_CONTRACT_H_
