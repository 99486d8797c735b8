# Cells of 1, 4 and 8 bytes in the same lanes.
p ():
  in a : u8[35]; in b : f64[35]; in c : i32[35]; in d : bool[35];
  in e : u64[35]; in f : f32[35];
  out x : f64[35]; out y : u8[35]; out z : f32[35]; out u : bool[35];
  out v : i64[35];
  vec i0 = 0 to 34 {
    x[i0] := select(d[i0], f64(a[i0]) + b[i0], f64(f[i0]));
    y[i0] := u8(b[i0]) ^ u8(c[i0]);
    z[i0] := f32(e[i0]) + f32(c[i0]) * f32(x[i0]);
    u[i0] := (b[i0] < f64(f[i0])) ^ d[i0];
    v[i0] := (i64(c[i0]) << i64(a[i0])) + i64(f[i0]) + [i0];
  }
