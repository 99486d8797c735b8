# Columns of matrices that have two, loaded and stored together, but not past
# what touches the same cells.
p ():
  inout w : f32[40, 2];
  inout u : f32[40, 2];
  inout t : f32[32];
  in x : i32[48, 2];
  out z : i32[2, 48];
  out y : f32[32, 2];
  out v : f32[32, 2];
  unroll i0 = 0 to 1 { vec i1 = 0 to 31 {
    w[i1, i0] := fma(w[i1, i0], 0.3, t[i1]); } }
  for i2 = 0 to 0 {
    vec i3 = 0 to 31 { t[i3] := u[i3, 0] + u[i3 + 1, 0]; }
    vec i4 = 0 to 31 { u[i4 + 8, 0] := t[i4] * 2; }
    vec i5 = 0 to 31 { t[i5] := t[i5] - u[i5, 1]; }
    vec i6 = 0 to 31 { u[i6 + 8, 1] := t[i6] * 3; }
    vec i7 = 0 to 31 { u[i7, 1] := u[i7 + 8, 0]; }
  }
  vec i8 = 0 to 31 { y[i8, 1] := w[i8, 0]; }
  vec i9 = 0 to 31 { y[i9, 0] := w[i9, 1]; }
  unroll i10 = 0 to 1 { vec i11 = 0 to 47 { z[i10, i11] := x[i11, i10]; } }
  for i12 = 0 to 0 {
    vec i13 = 0 to 31 { v[i13, 0] := w[i13, 1]; }
    vec i14 = 0 to 31 { w[i14 + 4, 0] := v[i14, 0]; }
    vec i15 = 0 to 31 { v[i15, 1] := w[i15, 0]; }
  }
