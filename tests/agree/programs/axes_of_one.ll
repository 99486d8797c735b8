# Indices 0 and i of an axis of one cell are the same cell.
p ():
  in a : f32[4, 3]; temp t : f32[4, 1]; out y : f32[4]; out z : f32[1];
  zero_out t;
  for i0 = 0 to 3 { for i1 = 0 to 0 { for i2 = 0 to 2 {
    t[i0, i1] := fma(a[i0, i2], 0.5, t[i0, i1]); } } }
  for i3 = 0 to 3 { y[i3] := t[i3, 0] + 1; }
  for i4 = 0 to 0 { z[i4] := t[3, i4] * t[3, 0]; }
