# Rows in blocks, with one row left over: what halves the last lanes has a row in
# each lane. The greatest number of a row, then a sum of what that makes.
p ():
  in x : f32[33, 70];
  private m.lanes : f32[64];
  temp m : f32[33];
  temp e : f32[33, 70];
  private s.lanes : f32[64];
  temp s : f32[33];
  out y : f32[33, 70];
  for i1 = 0 to 32 {
    vec i2 = 0 to 63 { m.lanes[i2] := x[i1, i2]; }
    vec i3 = 0 to 5 { m.lanes[i3] := max(m.lanes[i3], x[i1, i3 + 64]); }
    vec i4 = 0 to 31 { m.lanes[i4] := max(m.lanes[i4], m.lanes[i4 + 32]); }
    vec i5 = 0 to 15 { m.lanes[i5] := max(m.lanes[i5], m.lanes[i5 + 16]); }
    vec i6 = 0 to 7 { m.lanes[i6] := max(m.lanes[i6], m.lanes[i6 + 8]); }
    vec i7 = 0 to 3 { m.lanes[i7] := max(m.lanes[i7], m.lanes[i7 + 4]); }
    vec i8 = 0 to 1 { m.lanes[i8] := max(m.lanes[i8], m.lanes[i8 + 2]); }
    m.lanes[0] := max(m.lanes[0], m.lanes[1]);
    m[i1] := m.lanes[0] * 0.5;
  }
  for i9 = 0 to 32 { for i10 = 0 to 69 { e[i9, i10] := x[i9, i10] - m[i9]; } }
  for i11 = 0 to 32 {
    vec i12 = 0 to 63 { s.lanes[i12] := e[i11, i12]; }
    vec i13 = 0 to 5 { s.lanes[i13] := s.lanes[i13] + e[i11, i13 + 64]; }
    vec i14 = 0 to 31 { s.lanes[i14] := s.lanes[i14] + s.lanes[i14 + 32]; }
    vec i15 = 0 to 15 { s.lanes[i15] := s.lanes[i15] + s.lanes[i15 + 16]; }
    vec i16 = 0 to 7 { s.lanes[i16] := s.lanes[i16] + s.lanes[i16 + 8]; }
    vec i17 = 0 to 3 { s.lanes[i17] := s.lanes[i17] + s.lanes[i17 + 4]; }
    vec i18 = 0 to 1 { s.lanes[i18] := s.lanes[i18] + s.lanes[i18 + 2]; }
    s.lanes[0] := s.lanes[0] + s.lanes[1];
    s[i11] := s.lanes[0];
  }
  for i19 = 0 to 32 { for i20 = 0 to 69 { y[i19, i20] := e[i19, i20] / s[i19]; } }
