# A row for a GPU's block: maps before, between and behind two reductions in
# lanes; what only the row needs is in shared memory.
rows ():
  in x : f32[6, 70];
  temp a : f32[6, 70];
  temp m : f32[6];
  temp e : f32[6, 70];
  temp s : f32[6];
  out y : f32[6, 70];
  private ml : f32[64];
  private sl : f32[64];
  for i0 = 0 to 5 { for i1 = 0 to 69 { a[i0, i1] := x[i0, i1] * 3; } }
  for i2 = 0 to 5 {
    vec i10 = 0 to 63 { ml[i10] := -inf; }
    vec i11 = 0 to 63 { ml[i11] := maximum(ml[i11], a[i2, i11]); }
    vec i12 = 0 to 5 { ml[i12] := maximum(ml[i12], a[i2, i12 + 64]); }
    vec i13 = 0 to 31 { ml[i13] := maximum(ml[i13], ml[i13 + 32]); }
    vec i14 = 0 to 15 { ml[i14] := maximum(ml[i14], ml[i14 + 16]); }
    vec i15 = 0 to 7 { ml[i15] := maximum(ml[i15], ml[i15 + 8]); }
    vec i16 = 0 to 3 { ml[i16] := maximum(ml[i16], ml[i16 + 4]); }
    vec i17 = 0 to 1 { ml[i17] := maximum(ml[i17], ml[i17 + 2]); }
    m[i2] := maximum(ml[0], ml[1]);
  }
  for i3 = 0 to 5 { for i4 = 0 to 69 { e[i3, i4] := exp(a[i3, i4] - m[i3]); } }
  for i5 = 0 to 5 {
    vec i18 = 0 to 63 { sl[i18] := 0; }
    vec i19 = 0 to 63 { sl[i19] := sl[i19] + e[i5, i19]; }
    vec i20 = 0 to 5 { sl[i20] := sl[i20] + e[i5, i20 + 64]; }
    vec i21 = 0 to 31 { sl[i21] := sl[i21] + sl[i21 + 32]; }
    vec i22 = 0 to 15 { sl[i22] := sl[i22] + sl[i22 + 16]; }
    vec i23 = 0 to 7 { sl[i23] := sl[i23] + sl[i23 + 8]; }
    vec i24 = 0 to 3 { sl[i24] := sl[i24] + sl[i24 + 4]; }
    vec i25 = 0 to 1 { sl[i25] := sl[i25] + sl[i25 + 2]; }
    s[i5] := sl[0] + sl[1];
  }
  for i6 = 0 to 5 { for i7 = 0 to 69 { y[i6, i7] := e[i6, 69 - i7] / s[i6]; } }
