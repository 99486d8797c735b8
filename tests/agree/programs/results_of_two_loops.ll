# Two loops reach the cells of a result together: tiles of them have gaps.
p ():
  in a : f32[60, 5];
  in b : f32[60];
  in c : f64[9];
  in d : f64[9];
  temp t : f32[60];
  temp u : f64[9];
  out y : f32[60];
  out z : f64[9];
  zero_out t;
  for i0 = 0 to 2 { for i1 = 0 to 19 { for i2 = 0 to 4 {
    t[20*i0 + i1] := fma(a[20*i0 + i1, i2] - b[20*i0 + i1], 0.2, t[20*i0 + i1]);
  } } }
  for i3 = 0 to 59 { y[i3] := t[-i3 + 59]; }
  zero_out u;
  for i4 = 0 to 2 { for i5 = 0 to 2 { for i6 = 0 to 1 {
    u[3*i4 + i5] := fma(c[3*i4 + i5] - d[3*i4 + i5], 0.2:f64, u[3*i4 + i5]);
  } } }
  for i7 = 0 to 8 { z[i7] := u[-i7 + 8]; }
