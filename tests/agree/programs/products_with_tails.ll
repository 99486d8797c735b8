# Products of awkward sizes, the second of the first's result, with epilogues.
p ():
  in x : f32[17, 65]; in w : f32[33, 65]; in b : f32[33]; in v : f32[33, 5];
  temp h : f32[17, 33]; out y : f32[17, 5]; inout g : f32[33, 65];
  inout s : f32[33];
  zero_out h;
  for i0 = 0 to 16 { for i1 = 0 to 32 { for i2 = 0 to 64 {
    h[i0, i1] := fma(w[i1, i2], x[i0, i2], h[i0, i1]); } } }
  for i3 = 0 to 16 { for i4 = 0 to 32 {
    h[i3, i4] := relu(b[i4] + h[i3, i4]); } }
  zero_out y;
  for i5 = 0 to 16 { for i6 = 0 to 4 { for i7 = 0 to 32 {
    y[i5, i6] := fma(v[i7, i6], h[i5, i7], y[i5, i6]); } } }
  for i8 = 0 to 32 { for i9 = 0 to 64 { for i10 = 0 to 16 {
    g[i8, i9] := fma(h[i10, i8], x[i10, i9], g[i8, i9]); } } }
  for i11 = 0 to 32 { for i12 = 0 to 16 { s[i11] := s[i11] + h[i12, i11]; } }
