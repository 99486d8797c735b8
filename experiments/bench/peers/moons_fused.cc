// SPDX-License-Identifier: Apache-2.0
//
// Built with -O3, which unrolls the loops over accumulators: see BUILD.
#include "experiments/bench/peers/moons_fused.h"

#include <immintrin.h>

#include <algorithm>

#define OCANNL_AVX512 __attribute__((target("avx512f,avx512dq")))

namespace ocannl {

bool FusedMoons::IsSupported() {
  return __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512dq");
}

FusedMoons::FusedMoons(const MoonsArrays& arrays) : arrays_(arrays) {
  for (int i = 0; i < kH; ++i) {
    for (int k = 0; k < 2; ++k) w1_[k].of[i] = arrays.w1[i][k];
    for (int k = 0; k < kH; ++k) {
      w2_[i].of[k] = arrays.w2[i][k];
      w2_transposed_[k].of[i] = arrays.w2[i][k];
    }
    b1_.of[i] = arrays.b1[i];
    b2_.of[i] = arrays.b2[i];
    w3_.of[i] = arrays.w3[i];
  }
}

// h1 = relu(w1 x + b1), z2 = w2 h1 + b2
OCANNL_AVX512 void FusedMoons::Forward(const float (&x)[kB][2]) {
  const __m512 zero = _mm512_setzero_ps();
  const __m512 w1[] = {_mm512_load_ps(w1_[0].of), _mm512_load_ps(w1_[1].of)};
  const __m512 b1 = _mm512_load_ps(b1_.of);
  for (int b = 0; b < kB; ++b) {
    __m512 z1 = _mm512_fmadd_ps(w1[0], _mm512_set1_ps(x[b][0]), b1);
    z1 = _mm512_fmadd_ps(w1[1], _mm512_set1_ps(x[b][1]), z1);
    _mm512_store_ps(h1_[b].of, _mm512_max_ps(z1, zero));
  }
  __m512 z2[kB];
  for (int b = 0; b < kB; ++b) z2[b] = _mm512_load_ps(b2_.of);
  for (int k = 0; k < kH; ++k) {
    const __m512 column = _mm512_load_ps(w2_transposed_[k].of);
    for (int b = 0; b < kB; ++b) {
      z2[b] = _mm512_fmadd_ps(column, _mm512_set1_ps(h1_[b].of[k]), z2[b]);
    }
  }
  for (int b = 0; b < kB; ++b) _mm512_store_ps(z2_[b].of, z2[b]);
}

// The loss, its gradient by z2, and the update of w3, which that reads.
OCANNL_AVX512 void FusedMoons::OutputLayer(const float (&y)[kB], float rate) {
  const __m512 zero = _mm512_setzero_ps();
  const __m512 w3 = _mm512_load_ps(w3_.of);
  __m512 d_w3 = zero, d_b2 = zero;
  float total = 0;
  for (int b = 0; b < kB; ++b) {
    const __m512 z2 = _mm512_load_ps(z2_[b].of);
    const __m512 h2 = _mm512_max_ps(z2, zero);
    float out = _mm512_reduce_add_ps(_mm512_mul_ps(h2, w3));
    float gap = 1 - y[b] * out;
    total += std::max(gap, 0.f);
    const __m512 d_out = _mm512_set1_ps(gap > 0 ? y[b] * (-1.f / kB) : 0);
    d_w3 = _mm512_fmadd_ps(d_out, h2, d_w3);
    __mmask16 open = _mm512_cmp_ps_mask(z2, zero, _CMP_GT_OQ);
    const __m512 d_z2 = _mm512_maskz_mul_ps(open, d_out, w3);
    d_b2 = _mm512_add_ps(d_b2, d_z2);
    _mm512_store_ps(d_z2_[b].of, d_z2);
  }
  loss_ = total / kB;
  _mm512_store_ps(d_b2_.of, d_b2);
  const __m512 keep = _mm512_set1_ps(1 - rate * 1e-4f);
  d_w3 = _mm512_mul_ps(d_w3, _mm512_set1_ps(rate));
  _mm512_store_ps(w3_.of, _mm512_fmsub_ps(keep, w3, d_w3));
}

namespace {

// p = keep * p - rate * gradient
OCANNL_AVX512 inline void Descend(float keep, float rate, __m512 gradient,
                                  float* p) {
  __m512 change = _mm512_mul_ps(gradient, _mm512_set1_ps(rate));
  _mm512_store_ps(
      p, _mm512_fmsub_ps(_mm512_set1_ps(keep), _mm512_load_ps(p), change));
}

}  // namespace

// The gradients of the other layers, and their updates.
OCANNL_AVX512 void FusedMoons::HiddenLayers(const float (&x)[kB][2],
                                            float rate) {
  const __m512 zero = _mm512_setzero_ps();
  const float keep = 1 - rate * 1e-4f;
  __m512 d_h1[kB];
  for (int b = 0; b < kB; ++b) d_h1[b] = zero;
  for (int i = 0; i < kH; ++i) {
    const __m512 row = _mm512_load_ps(w2_[i].of);
    for (int b = 0; b < kB; ++b) {
      d_h1[b] = _mm512_fmadd_ps(row, _mm512_set1_ps(d_z2_[b].of[i]), d_h1[b]);
    }
  }
  __m512 d_w1[] = {zero, zero}, d_b1 = zero, h1[kB], d_z2[kB];
  for (int b = 0; b < kB; ++b) {
    h1[b] = _mm512_load_ps(h1_[b].of);
    d_z2[b] = _mm512_load_ps(d_z2_[b].of);
    __mmask16 open = _mm512_cmp_ps_mask(h1[b], zero, _CMP_GT_OQ);
    const __m512 d_z1 = _mm512_maskz_mov_ps(open, d_h1[b]);
    d_b1 = _mm512_add_ps(d_b1, d_z1);
    for (int k = 0; k < 2; ++k) {
      d_w1[k] = _mm512_fmadd_ps(d_z1, _mm512_set1_ps(x[b][k]), d_w1[k]);
    }
  }
  for (int i = 0; i < kH; ++i) {
    __m512 row = zero, column = zero;
    for (int b = 0; b < kB; ++b) {
      row = _mm512_fmadd_ps(h1[b], _mm512_set1_ps(d_z2_[b].of[i]), row);
      column = _mm512_fmadd_ps(d_z2[b], _mm512_set1_ps(h1_[b].of[i]), column);
    }
    Descend(keep, rate, row, w2_[i].of);
    Descend(keep, rate, column, w2_transposed_[i].of);
  }
  for (int k = 0; k < 2; ++k) Descend(keep, rate, d_w1[k], w1_[k].of);
  Descend(keep, rate, d_b1, b1_.of);
  Descend(keep, rate, _mm512_load_ps(d_b2_.of), b2_.of);
}

void FusedMoons::Step(int batch, int step) {
  float rate = 0.1f * static_cast<float>(2 * kMoonsSteps - step) / kMoonsSteps;
  Forward(arrays_.x[batch]);
  OutputLayer(arrays_.y[batch], rate);
  HiddenLayers(arrays_.x[batch], rate);
}

}  // namespace ocannl
