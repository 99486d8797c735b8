# Static indices with names that new loops could have.
p (i1 : [0..2], i2 : [0..2], i3 : [0..2], i7 : [0..2], i8 : [0..2], i9 : [0..2]):
  in x : f32[3, 40, 24];
  in u : f32[24, 40];
  out y : f32[40, 40];
  zero_out y;
  for i0 = 0 to 39 { for i4 = 0 to 39 { for i6 = 0 to 23 {
    y[i0, i4] := fma(x[i1, i0, i6], u[i6, i4], y[i0, i4]);
  } } }
