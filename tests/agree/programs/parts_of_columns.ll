# Parts of odd widths, put together, and what reaches each of them back.
p ():
  in x : f32[6, 13]; in y : f32[6, 7]; in w : f32[6, 20]; temp z : f32[6, 20];
  out r : f32[6, 20]; out dx : f32[6, 13]; out dy : f32[6, 7];
  for i0 = 0 to 5 { for i1 = 0 to 12 { z[i0, i1] := x[i0, i1]; } }
  for i2 = 0 to 5 { for i3 = 0 to 6 { z[i2, i3 + 13] := y[i2, i3]; } }
  for i4 = 0 to 5 { for i5 = 0 to 19 {
    r[i4, i5] := z[i4, i5] * w[i4, i5] + z[i4, 13]; } }
  zero_out dx; zero_out dy;
  for i6 = 0 to 5 { for i7 = 0 to 12 {
    dx[i6, i7] := dx[i6, i7] + r[i6, i7]; } }
  for i8 = 0 to 5 { for i9 = 0 to 6 {
    dy[i8, i9] := dy[i8, i9] + r[i8, i9 + 13]; } }
