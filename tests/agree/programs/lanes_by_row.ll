# Lanes that the row says: these rows do not go in blocks.
p ():
  in x : f32[33, 64];
  private l : f32[64];
  temp s : f32[33];
  out y : f32[33, 64];
  for i1 = 0 to 32 {
    vec i2 = 0 to 63 { l[i2] := x[i1, i2]; }
    vec i3 = 0 to 7 { l[i3] := l[i3] + l[i3 + 8]; }
    s[i1] := l[i1] + l[0];
  }
  for i4 = 0 to 32 { for i5 = 0 to 63 { y[i4, i5] := x[i4, i5] + s[i4]; } }
