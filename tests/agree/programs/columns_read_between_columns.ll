# Two columns of a matrix, loaded between stores of two columns of its cells.
p ():
  inout w : f32[80];
  in x : f32[16];
  out y : f32[16];
  out z : f32[16];
  for i0 = 0 to 0 {
    vec i1 = 0 to 15 { w[2*i1] := x[i1]; }
    vec i2 = 0 to 15 { y[i2] := w[2*i2 + 2]; }
    vec i3 = 0 to 15 { z[i3] := w[2*i3 + 3]; }
    vec i4 = 0 to 15 { w[2*i4 + 1] := x[i4] * 2; }
  }
