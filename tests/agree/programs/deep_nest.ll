# Eight loops around a gather of all of them.
p ():
  in a : f32[2, 2, 2, 2, 2, 2, 2, 3]; inout y : f32[3, 2, 2]; out z : f32[2, 5];
  for i0 = 0 to 1 { for i1 = 0 to 1 { unroll i2 = 0 to 1 { for i3 = 0 to 1 {
    for i4 = 0 to 1 { unroll i5 = 0 to 1 { for i6 = 0 to 1 { vec i7 = 0 to 2 {
      y[i7, i5, i0] := y[i7, i5, i0] + a[i0, i1, i2, i3, i4, i5, i6, i7];
    } } } } } } } }
  for i8 = 0 to 1 { vec i9 = 0 to 4 {
    z[i8, i9] := y[0, i8, 1] + f32([100*i8 - 7*i9]); } }
