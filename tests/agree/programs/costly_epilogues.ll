# Epilogues that run on rows of a stored tile: of a sum that nothing else uses,
# of one that is a result, in place, and of a sum that a cheap statement has
# finished with, or that they do not read.
p ():
  in a : f32[26, 40]; in b : f32[40, 70]; in v : f32[26, 70];
  temp t : f32[26, 70]; out dead : f32[26, 70];
  out live : f32[26, 70]; out of_live : f32[26, 70];
  inout place : f32[26, 70]; out behind : f32[26, 70];
  temp u : f32[26, 70]; out biased : f32[26, 70]; out of_biased : f32[26, 70];
  out sum : f32[26, 70]; out other : f32[26, 70];
  zero_out t;
  for i0 = 0 to 25 { for i1 = 0 to 69 { for i2 = 0 to 39 {
    t[i0, i1] := fma(a[i0, i2], b[i2, i1], t[i0, i1]); } } }
  for i3 = 0 to 25 { for i4 = 0 to 69 {
    dead[i3, i4] := t[i3, i4] * gelu(v[i3, i4]); } }
  zero_out live;
  for i5 = 0 to 25 { for i6 = 0 to 69 { for i7 = 0 to 39 {
    live[i5, i6] := fma(a[i5, i7], b[i7, i6], live[i5, i6]); } } }
  for i8 = 0 to 25 { for i9 = 0 to 69 {
    of_live[i8, i9] := sigmoid(live[i8, i9] + v[i8, i9]); } }
  for i10 = 0 to 25 { for i11 = 0 to 69 { for i12 = 0 to 39 {
    place[i10, i11] := fma(a[i10, i12], b[i12, i11], place[i10, i11]); } } }
  for i13 = 0 to 25 { for i14 = 0 to 69 {
    place[i13, i14] := place[i13, i14] + gelu(place[i13, i14]); } }
  for i15 = 0 to 25 { for i16 = 0 to 69 {
    behind[i15, i16] := place[i15, i16] * 2; } }
  zero_out u;
  for i17 = 0 to 25 { for i18 = 0 to 69 { for i19 = 0 to 39 {
    u[i17, i18] := fma(a[i17, i19], b[i19, i18], u[i17, i18]); } } }
  for i20 = 0 to 25 { for i21 = 0 to 69 {
    biased[i20, i21] := u[i20, i21] + 1; } }
  for i22 = 0 to 25 { for i23 = 0 to 69 {
    of_biased[i22, i23] := gelu(biased[i22, i23]); } }
  zero_out sum;
  for i24 = 0 to 25 { for i25 = 0 to 69 { for i26 = 0 to 39 {
    sum[i24, i25] := fma(a[i24, i26], b[i26, i25], sum[i24, i25]); } } }
  for i27 = 0 to 25 { for i28 = 0 to 69 {
    sum[i27, i28] := sum[i27, i28] * 3; } }
  for i29 = 0 to 25 { for i30 = 0 to 69 {
    other[i29, i30] := gelu(sum[i29, i30]) * sigmoid(v[i29, i30]); } }
