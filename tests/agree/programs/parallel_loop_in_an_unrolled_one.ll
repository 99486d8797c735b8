p ():
  inout y : f32[2, 3];
  unroll i1 = 0 to 1 {
    par i2 = 0 to 2 {
      y[i1, i2] := y[i1, i2] + 1;
    }
  }
