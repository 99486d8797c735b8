# Private lanes that are indices, or are looked up: these rows do not go in
# blocks.
p ():
  in x : i32[33, 64];
  in w : f32[50];
  private l : i32[64];
  temp s : f32[33];
  private k : i32[64];
  temp t : i32[33];
  out y : f32[33, 40];
  out z : i32[33, 40];
  for i1 = 0 to 32 {
    vec i2 = 0 to 63 { l[i2] := x[i1, i2]; }
    vec i3 = 0 to 7 { l[i3] := max(l[i3], l[i3 + 8]); }
    s[i1] := w[l[0]];
  }
  for i4 = 0 to 32 { for i5 = 0 to 39 { y[i4, i5] := w[i5] + s[i4]; } }
  for i6 = 0 to 32 {
    vec i7 = 0 to 63 { k[i7] := x[i6, i7]; }
    vec i8 = 0 to 7 { k[i8] := k[i8] + k[i8 + 8]; }
    t[i6] := k[x[i6, 3]];
  }
  for i9 = 0 to 32 { for i10 = 0 to 39 { z[i9, i10] := x[i9, i10] + t[i9]; } }
