// SPDX-License-Identifier: Apache-2.0
//
// Built with -O1, whatever else is built how: see BUILD.

#include "experiments/moons_plain.h"

namespace ocannl {
namespace {

constexpr int kB = kMoonsBatch;
constexpr int kH = kMoonsHidden;

// Scratch of one step; names are those of kMoonsStepText.
float wx[kB][kH], z1[kB][kH], h1[kB][kH], wh[kB][kH], z2[kB][kH], h2[kB][kH];
float out[kB], margin[kB], gap[kB], hinge[kB], total[1], rate[1];
float d_hinge[kB], d_gap[kB], d_out[kB];
float d_h2[kB][kH], d_z2[kB][kH], d_h1[kB][kH], d_z1[kB][kH];
float d_w3[kH], d_b2[kH], d_w2[kH][kH], d_b1[kH], d_w1[kH][2];

template <int kSize>
void Zero(float (&a)[kSize]) {
  for (int i = 0; i < kSize; ++i) a[i] = 0;
}

template <int kRows, int kColumns>
void Zero(float (&a)[kRows][kColumns]) {
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) a[i][j] = 0;
  }
}

// z = bias + sums; h = relu(z)
void BiasRelu(const float (&bias)[kH], const float (&sums)[kB][kH],
              float (&z)[kB][kH], float (&h)[kB][kH]) {
  for (int i = 0; i < kB; ++i) {
    for (int j = 0; j < kH; ++j) z[i][j] = bias[j] + sums[i][j];
  }
  for (int i = 0; i < kB; ++i) {
    for (int j = 0; j < kH; ++j) h[i][j] = z[i][j] > 0 ? z[i][j] : 0;
  }
}

void Forward(int batch, MoonsArrays& arrays) {
  const auto& [x, y, w1, b1, w2, b2, w3, loss] = arrays;
  Zero(wx);
  for (int i = 0; i < kB; ++i) {
    for (int j = 0; j < kH; ++j) {
      for (int k = 0; k < 2; ++k) wx[i][j] += w1[j][k] * x[batch][i][k];
    }
  }
  BiasRelu(b1, wx, z1, h1);
  Zero(wh);
  for (int i = 0; i < kB; ++i) {
    for (int j = 0; j < kH; ++j) {
      for (int k = 0; k < kH; ++k) wh[i][j] += w2[j][k] * h1[i][k];
    }
  }
  BiasRelu(b2, wh, z2, h2);
  Zero(out);
  for (int i = 0; i < kB; ++i) {
    for (int k = 0; k < kH; ++k) out[i] += w3[k] * h2[i][k];
  }
  for (int i = 0; i < kB; ++i) margin[i] = y[batch][i] * out[i];
  for (int i = 0; i < kB; ++i) gap[i] = 1 - margin[i];
  for (int i = 0; i < kB; ++i) hinge[i] = gap[i] > 0 ? gap[i] : 0;
  Zero(total);
  for (int i = 0; i < kB; ++i) total[0] += hinge[i];
  arrays.loss[0] = total[0] / 10;
}

void Backward(int batch, const MoonsArrays& arrays) {
  const auto& [x, y, w1, b1, w2, b2, w3, loss] = arrays;
  for (int i = 0; i < kB; ++i) d_hinge[i] = 0.1f;
  for (int i = 0; i < kB; ++i) d_gap[i] = gap[i] > 0 ? d_hinge[i] : 0;
  for (int i = 0; i < kB; ++i) d_out[i] = -d_gap[i] * y[batch][i];
  Zero(d_w3);
  for (int i = 0; i < kB; ++i) {
    for (int k = 0; k < kH; ++k) d_w3[k] += d_out[i] * h2[i][k];
  }
  Zero(d_h2);
  for (int i = 0; i < kB; ++i) {
    for (int k = 0; k < kH; ++k) d_h2[i][k] += w3[k] * d_out[i];
  }
  for (int i = 0; i < kB; ++i) {
    for (int j = 0; j < kH; ++j) d_z2[i][j] = z2[i][j] > 0 ? d_h2[i][j] : 0;
  }
  Zero(d_b2);
  for (int i = 0; i < kB; ++i) {
    for (int j = 0; j < kH; ++j) d_b2[j] += d_z2[i][j];
  }
  Zero(d_w2);
  for (int i = 0; i < kB; ++i) {
    for (int j = 0; j < kH; ++j) {
      for (int k = 0; k < kH; ++k) d_w2[j][k] += d_z2[i][j] * h1[i][k];
    }
  }
  Zero(d_h1);
  for (int i = 0; i < kB; ++i) {
    for (int j = 0; j < kH; ++j) {
      for (int k = 0; k < kH; ++k) d_h1[i][k] += w2[j][k] * d_z2[i][j];
    }
  }
}

void BackwardFirstLayer(int batch, const MoonsArrays& arrays) {
  for (int i = 0; i < kB; ++i) {
    for (int j = 0; j < kH; ++j) d_z1[i][j] = z1[i][j] > 0 ? d_h1[i][j] : 0;
  }
  Zero(d_b1);
  for (int i = 0; i < kB; ++i) {
    for (int j = 0; j < kH; ++j) d_b1[j] += d_z1[i][j];
  }
  Zero(d_w1);
  for (int i = 0; i < kB; ++i) {
    for (int j = 0; j < kH; ++j) {
      for (int k = 0; k < 2; ++k) {
        d_w1[j][k] += d_z1[i][j] * arrays.x[batch][i][k];
      }
    }
  }
}

template <int kSize>
void Descend(const float (&d)[kSize], float (&p)[kSize]) {
  for (int i = 0; i < kSize; ++i) p[i] -= rate[0] * (0.0001f * p[i] + d[i]);
}

template <int kRows, int kColumns>
void Descend(const float (&d)[kRows][kColumns], float (&p)[kRows][kColumns]) {
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      p[i][j] -= rate[0] * (0.0001f * p[i][j] + d[i][j]);
    }
  }
}

}  // namespace

void PlainMoonsStep(int batch, int step, MoonsArrays& arrays) {
  Forward(batch, arrays);
  Backward(batch, arrays);
  BackwardFirstLayer(batch, arrays);
  rate[0] = 0.1f * static_cast<float>(2 * kMoonsSteps - step) / kMoonsSteps;
  Descend(d_w1, arrays.w1);
  Descend(d_b1, arrays.b1);
  Descend(d_w2, arrays.w2);
  Descend(d_b2, arrays.b2);
  Descend(d_w3, arrays.w3);
}

}  // namespace ocannl
