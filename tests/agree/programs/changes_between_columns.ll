# Between two columns of a matrix: the local that the first one gets, and its
# cells, by way of another pointer.
p ():
  in x : f32[16];
  inout u : f32[16, 2];
  inout w : f32[160];
  inout v : f32[17, 9];
  out y : f32[16];
  out z : f32[16];
  out t : f32[8, 16];
  vec i0 = 0 to 15 {
    let a : f32 := x[i0]; u[i0, 0] := a; a := a * 2; u[i0, 1] := a;
  }
  for i1 = 0 to 3 {
    vec i2 = 0 to 15 { y[i2] := w[2*i2]; }
    vec i3 = 0 to 15 { w[2*i3 - 40*i1 + 121] := y[i3] * 3; }
    vec i4 = 0 to 15 { z[i4] := w[2*i4 + 1]; }
  }
  for i5 = 0 to 0 { unroll i6 = 0 to 7 {
    vec i7 = 0 to 15 { t[i6, i7] := v[i7, i6]; }
    vec i8 = 0 to 15 { v[i8 + 1, i6 + 1] := t[i6, i8] * 2; }
  } }
