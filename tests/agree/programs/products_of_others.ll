# Not fma: sums of maxima, products of integers, doubles, bytes that wrap.
p ():
  in a : f32[9, 20]; in b : f32[20, 35]; out x : f32[9, 35];
  in c : i32[9, 20]; in d : i32[20, 35]; out y : i32[9, 35];
  in e : f64[9, 20]; in f : f64[20, 35]; inout z : f64[9, 35];
  in g : u8[9, 20]; in h : u8[20, 35]; out u : u8[9, 35];
  zero_out x; zero_out y; zero_out u;
  for i0 = 0 to 8 { for i1 = 0 to 34 { for i2 = 0 to 19 {
    x[i0, i1] := max(x[i0, i1], a[i0, i2] + b[i2, i1]); } } }
  for i3 = 0 to 8 { for i4 = 0 to 34 { for i5 = 0 to 19 {
    y[i3, i4] := y[i3, i4] + c[i3, i5] * d[i5, i4]; } } }
  for i6 = 0 to 19 { for i7 = 0 to 34 { for i8 = 0 to 8 {
    z[i8, i7] := z[i8, i7] - e[i8, i6] * f[i6, i7]; } } }
  for i9 = 0 to 8 { for i10 = 0 to 19 { for i11 = 0 to 34 {
    u[i9, i11] := u[i9, i11] + g[i9, i10] * h[i10, i11]; } } }
