p ():
  inout y : f32[4];
  inout sum : f32[1];
  for i1 = 0 to 0 {
    par i2 = 0 to 3 {
      y[i2] := y[i2] + 1;
    }
    sum[0] := sum[0] + y[3];
  }
