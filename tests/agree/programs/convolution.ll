# Windows that overlap, with steps and channels.
p ():
  in x : f32[2, 13, 3]; in w : f32[4, 3, 5]; temp c : f32[2, 6, 5];
  out y : f32[2, 6, 5]; out m : f32[2, 5];
  zero_out c;
  for i0 = 0 to 1 { for i1 = 0 to 4 { for i2 = 0 to 4 {
    for i3 = 0 to 3 { for i4 = 0 to 2 {
      c[i0, i1, i2] := fma(x[i0, 2*i1 + i3, i4], w[i3, i4, i2],
                           c[i0, i1, i2]); } } } } }
  for i5 = 0 to 1 { for i6 = 0 to 5 { for i7 = 0 to 4 {
    y[i5, i6, i7] := tanh(c[i5, i6, i7]); } } }
  for i8 = 0 to 1 { for i9 = 0 to 4 {
    m[i8, i9] := -inf;
    for i10 = 0 to 5 { m[i8, i9] := max(m[i8, i9], y[i8, i10, i9]); } } }
