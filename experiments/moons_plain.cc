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

const char kMoonsStepText[] = R"(
moons_step (batch : [0..79], step : [0..6399]):
  in x : f32[80, 10, 2]; in y : f32[80, 10];
  inout w1 : f32[16, 2]; inout b1 : f32[16]; inout w2 : f32[16, 16];
  inout b2 : f32[16]; inout w3 : f32[16]; out loss : f32[1];
  temp wx : f32[10, 16]; temp z1 : f32[10, 16]; temp h1 : f32[10, 16];
  temp wh : f32[10, 16]; temp z2 : f32[10, 16]; temp h2 : f32[10, 16];
  temp out_ : f32[10]; temp margin : f32[10]; temp gap : f32[10];
  temp hinge : f32[10]; temp total : f32[1]; temp rate : f32[1];
  temp d_hinge : f32[10]; temp d_gap : f32[10]; temp d_out : f32[10];
  temp d_h2 : f32[10, 16]; temp d_z2 : f32[10, 16]; temp d_h1 : f32[10, 16];
  temp d_z1 : f32[10, 16]; temp d_w3 : f32[16]; temp d_b2 : f32[16];
  temp d_w2 : f32[16, 16]; temp d_b1 : f32[16]; temp d_w1 : f32[16, 2];

  zero_out wx;
  for i1 = 0 to 9 { for i2 = 0 to 15 { for i3 = 0 to 1 {
    wx[i1, i2] := fma(w1[i2, i3], x[batch, i1, i3], wx[i1, i2]); } } }
  for i4 = 0 to 9 { for i5 = 0 to 15 {
    z1[i4, i5] := b1[i5] + wx[i4, i5]; } }
  for i6 = 0 to 9 { for i7 = 0 to 15 { h1[i6, i7] := relu(z1[i6, i7]); } }
  zero_out wh;
  for i8 = 0 to 9 { for i9 = 0 to 15 { for i10 = 0 to 15 {
    wh[i8, i9] := fma(w2[i9, i10], h1[i8, i10], wh[i8, i9]); } } }
  for i11 = 0 to 9 { for i12 = 0 to 15 {
    z2[i11, i12] := b2[i12] + wh[i11, i12]; } }
  for i13 = 0 to 9 { for i14 = 0 to 15 {
    h2[i13, i14] := relu(z2[i13, i14]); } }
  zero_out out_;
  for i15 = 0 to 9 { for i16 = 0 to 15 {
    out_[i15] := fma(w3[i16], h2[i15, i16], out_[i15]); } }
  for i17 = 0 to 9 { margin[i17] := y[batch, i17] * out_[i17]; }
  for i18 = 0 to 9 { gap[i18] := 1 - margin[i18]; }
  for i19 = 0 to 9 { hinge[i19] := relu(gap[i19]); }
  zero_out total;
  for i20 = 0 to 9 { total[0] := total[0] + hinge[i20]; }
  loss[0] := total[0] / 10;

  for i21 = 0 to 9 { d_hinge[i21] := 0.1; }
  for i22 = 0 to 9 { d_gap[i22] := relu_gate(gap[i22], d_hinge[i22]); }
  for i23 = 0 to 9 { d_out[i23] := neg(d_gap[i23]) * y[batch, i23]; }
  zero_out d_w3;
  for i24 = 0 to 9 { for i25 = 0 to 15 {
    d_w3[i25] := fma(d_out[i24], h2[i24, i25], d_w3[i25]); } }
  zero_out d_h2;
  for i26 = 0 to 9 { for i27 = 0 to 15 {
    d_h2[i26, i27] := fma(w3[i27], d_out[i26], d_h2[i26, i27]); } }
  for i28 = 0 to 9 { for i29 = 0 to 15 {
    d_z2[i28, i29] := relu_gate(z2[i28, i29], d_h2[i28, i29]); } }
  zero_out d_b2;
  for i30 = 0 to 9 { for i31 = 0 to 15 {
    d_b2[i31] := d_b2[i31] + d_z2[i30, i31]; } }
  zero_out d_w2;
  for i32 = 0 to 9 { for i33 = 0 to 15 { for i34 = 0 to 15 {
    d_w2[i33, i34] := fma(d_z2[i32, i33], h1[i32, i34], d_w2[i33, i34]);
  } } }
  zero_out d_h1;
  for i35 = 0 to 9 { for i36 = 0 to 15 { for i37 = 0 to 15 {
    d_h1[i35, i37] := fma(w2[i36, i37], d_z2[i35, i36], d_h1[i35, i37]);
  } } }
  for i38 = 0 to 9 { for i39 = 0 to 15 {
    d_z1[i38, i39] := relu_gate(z1[i38, i39], d_h1[i38, i39]); } }
  zero_out d_b1;
  for i40 = 0 to 9 { for i41 = 0 to 15 {
    d_b1[i41] := d_b1[i41] + d_z1[i40, i41]; } }
  zero_out d_w1;
  for i42 = 0 to 9 { for i43 = 0 to 15 { for i44 = 0 to 1 {
    d_w1[i43, i44] := fma(d_z1[i42, i43], x[batch, i42, i44], d_w1[i43, i44]);
  } } }

  rate[0] := 0.1 * f32([12800 - step]) / 6400;
  for i45 = 0 to 15 { for i46 = 0 to 1 {
    w1[i45, i46] := w1[i45, i46]
        - rate[0] * fma(0.0001, w1[i45, i46], d_w1[i45, i46]); } }
  for i47 = 0 to 15 {
    b1[i47] := b1[i47] - rate[0] * fma(0.0001, b1[i47], d_b1[i47]); }
  for i48 = 0 to 15 { for i49 = 0 to 15 {
    w2[i48, i49] := w2[i48, i49]
        - rate[0] * fma(0.0001, w2[i48, i49], d_w2[i48, i49]); } }
  for i50 = 0 to 15 {
    b2[i50] := b2[i50] - rate[0] * fma(0.0001, b2[i50], d_b2[i50]); }
  for i51 = 0 to 15 {
    w3[i51] := w3[i51] - rate[0] * fma(0.0001, w3[i51], d_w3[i51]); }
)";

}  // namespace ocannl
