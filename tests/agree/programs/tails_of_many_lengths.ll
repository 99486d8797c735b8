# Lanes that do not exist: of lengths that change in a loop, around instructions
# with masks of their own, and in scratch that goes on behind them.
p ():
  in x : f32[3, 32];
  inout y : f32[3, 32];
  inout z : f32[3, 32];
  inout n : i32[5];
  out o : f32[3, 32];
  temp t : f32[17];
  temp s : f32[16];
  temp u : f32[16];
  for i0 = 0 to 0 {
    vec i1 = 0 to 8 { z[0, i1] := x[0, i1]; }
    for i2 = 0 to 2 {
      vec i3 = 0 to 8 { y[i2, i3] := x[i2, i3] * 2; }
      vec i4 = 0 to 12 { z[i2, i4 + 16] := x[i2, i4]; }
    }
  }
  vec i5 = 0 to 4 { n[i5] := i32(x[1, i5] * 10); }
  for i6 = 0 to 16 { t[i6] := x[0, i6]; }
  for i7 = 0 to 15 { s[i7] := x[1, i7]; }
  for i8 = 0 to 15 { u[i8] := x[2, i8]; }
  vec i9 = 0 to 4 { t[i9] := x[0, i9] * 2; }
  vec i10 = 0 to 4 { s[i10 + 11] := x[1, i10] * 3; }
  vec i11 = 0 to 4 { u[i11 + 11] := x[2, i11] * 4; }
  zero_out o;
  for i12 = 0 to 16 { o[0, i12] := t[i12]; }
  for i13 = 0 to 15 { o[1, i13] := s[i13]; }
  for i14 = 0 to 15 { o[2, i14] := u[i14]; }
