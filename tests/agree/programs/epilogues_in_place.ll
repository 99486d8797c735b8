# Epilogues that change the result in place: each reads what the last one wrote.
p ():
  in a : f32[5, 20]; in b : f32[20, 19]; inout y : f32[5, 19];
  temp t : f32[5, 19]; out z : f32[5, 19]; inout s : i32[];
  for i0 = 0 to 4 { for i1 = 0 to 18 { for i2 = 0 to 19 {
    y[i0, i1] := fma(a[i0, i2], b[i2, i1], y[i0, i1]); } } }
  for i3 = 0 to 4 { for i4 = 0 to 18 { y[i3, i4] := relu(y[i3, i4]); } }
  for i5 = 0 to 4 { for i6 = 0 to 18 { y[i5, i6] := y[i5, i6] * 3 + 1; } }
  zero_out t;
  for i7 = 0 to 4 { for i8 = 0 to 18 { for i9 = 0 to 19 {
    t[i7, i8] := fma(a[i7, i9], b[i9, i8], t[i7, i8]); } } }
  for i10 = 0 to 4 { for i11 = 0 to 18 { t[i10, i11] := t[i10, i11] + 2; } }
  for i12 = 0 to 4 { for i13 = 0 to 18 {
    z[i12, i13] := t[i12, i13] * t[i12, i13]; } }
  for i14 = 0 to 1 { s[] := s[] + 5:i32; }
  for i15 = 0 to 0 { s[] := s[] * 3:i32; }
  for i16 = 0 to 0 { s[] := s[] - 1:i32; }
