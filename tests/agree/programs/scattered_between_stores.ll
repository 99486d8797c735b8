# What is stored by number was stored just before, and is read and stored again
# behind it; numbers in the buffer itself, and in private ones.
p ():
  inout ids : i32[8]; inout t : f32[8, 16]; private q : f32[4, 8];
  private at : i32[2]; out y : f32[8, 16]; out z : f32[8]; inout k : i32[9];
  for i0 = 0 to 7 {
    ids[i0] := i32([i0]) * 5:i32 % 7:i32;
    vec i1 = 0 to 15 { t[i0, i1] := f32([i0 + i1]); }
    vec i2 = 0 to 15 { t[ids[i0], i2] := f32([i0 - i2]) * 2; }
    vec i3 = 0 to 15 { y[i0, i3] := t[i0, i3]; }
    vec i4 = 0 to 15 { t[i0, i4] := y[i0, i4] + t[ids[i0], i4]; }
    ids[ids[i0]] := i32([i0]) - 2:i32;
  }
  par i5 = 0 to 7 {
    unroll i6 = 0 to 3 { vec i7 = 0 to 7 { q[i6, i7] := f32([i5 + i6 - i7]); } }
    at[0] := i32([i5]) - 2:i32;
    at[1] := 3:i32;
    q[at[0], 5] := q[at[1], i5] + 1;
    q[2, ids[i5]] := q[at[0], 5];
    z[i5] := q[2, 5] + q[1, 5] + q[2, i5];
  }
  for i8 = 0 to 8 { k[k[i8]] := k[i8] + k[k[i8]]; }
