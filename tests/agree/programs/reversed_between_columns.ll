# Two columns of a matrix, and in between a store that runs backwards into them.
p ():
  inout w : f32[80];
  inout u : f32[80];
  inout y : f32[16];
  out z : f32[16];
  for i0 = 0 to 0 {
    vec i1 = 0 to 15 { y[i1] := y[i1] + w[2*i1]; }
    vec i2 = 0 to 15 { w[-i2 + 40] := y[i2]; }
    vec i3 = 0 to 15 { z[i3] := w[2*i3 + 1] * y[i3]; }
    vec i4 = 0 to 15 { u[2*i4] := z[i4]; }
    vec i5 = 0 to 15 { y[i5] := y[i5] - u[-i5 + 40]; }
    vec i6 = 0 to 15 { u[2*i6 + 1] := z[i6] + y[i6]; }
  }
