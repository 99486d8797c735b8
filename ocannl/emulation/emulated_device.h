// SPDX-License-Identifier: Apache-2.0
//
// What CUDA C has of a device, as C++ for the processor: stands in front of the
// text of kernels (cuda/kernel_text.h).
#ifndef OCANNL_EMULATION_EMULATED_DEVICE_H_
#define OCANNL_EMULATION_EMULATED_DEVICE_H_

#include "absl/strings/string_view.h"

namespace ocannl::emulation {

// What runs the kernels sets the indices and `barrier`. It includes nothing:
// with C's headers for math and strings, and what runs the threads, a kernel
// took three times as long to compile.
inline constexpr absl::string_view kEmulatedDevice = R"(
#define __global__
#define __device__
#define __shared__
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(n)
#define __fadd_rn(a, b) ((float)(a) + (float)(b))
#define __fsub_rn(a, b) ((float)(a) - (float)(b))
#define __fmul_rn(a, b) ((float)(a) * (float)(b))
#define __fdiv_rn(a, b) ((float)(a) / (float)(b))
#define __dadd_rn(a, b) ((double)(a) + (double)(b))
#define __dsub_rn(a, b) ((double)(a) - (double)(b))
#define __dmul_rn(a, b) ((double)(a) * (double)(b))
#define __ddiv_rn(a, b) ((double)(a) / (double)(b))
#define __fmaf_rn(a, b, c) __builtin_fmaf(a, b, c)
#define __fma_rn(a, b, c) __builtin_fma(a, b, c)
#define __fsqrt_rn(a) __builtin_sqrtf(a)
#define __dsqrt_rn(a) __builtin_sqrt(a)
extern "C" {
struct Index { unsigned x; };
Index threadIdx, blockIdx;
__attribute__((aligned(64))) unsigned char shared[1 << 18];
void (*barrier)();
void* memcpy(void*, const void*, __SIZE_TYPE__);
float fabsf(float), floorf(float), ceilf(float), truncf(float), rintf(float);
double fabs(double), floor(double), ceil(double), trunc(double), rint(double);
float fmodf(float, float);
double fmod(double, double);
}
#define __syncthreads() barrier()
)";

}  // namespace ocannl::emulation

#endif  // OCANNL_EMULATION_EMULATED_DEVICE_H_
