# What is looked up was stored just before, and is stored again behind it.
p ():
  inout ids : i32[8]; inout t : f32[8, 16]; private q : f32[4, 8];
  private at : i32[2]; out y : f32[8, 16]; out z : f32[8];
  for i0 = 0 to 7 {
    ids[i0] := i32([i0]) * 5:i32 % 7:i32;
    vec i1 = 0 to 15 { t[i0, i1] := f32([i0 + i1]); }
    vec i2 = 0 to 15 { y[i0, i2] := t[ids[i0], i2]; }
    vec i3 = 0 to 15 { t[i0, i3] := f32([i0 - i3]); }
    ids[i0] := i32([i0]) - 2:i32;
  }
  par i4 = 0 to 7 {
    unroll i5 = 0 to 3 { vec i6 = 0 to 7 { q[i5, i6] := f32([i4 + i5 - i6]); } }
    at[0] := i32([i4]) - 2:i32;
    at[1] := 3:i32;
    z[i4] := q[at[0], 5] + q[at[1], i4] + q[0, ids[i4]];
  }
