# A thread reads and writes four cells at once, but not those one further on.
vectors ():
  in x : f32[65];
  in h : f32[64];
  in b : f32[];
  inout y : f32[64];
  out z : f16[64];
  grid i0 = 0 to 1 {
    thread i1 = 0 to 7 {
      vec i2 = 0 to 3 {
        y[32*i0 + 4*i1 + i2] := fma(x[32*i0 + 4*i1 + i2 + 1], b[], y[32*i0 + 4*i1 + i2]);
        z[32*i0 + 4*i1 + i2] := f16(y[32*i0 + 4*i1 + i2] + h[32*i0 + 4*i1 + i2]);
      }
    }
  }
