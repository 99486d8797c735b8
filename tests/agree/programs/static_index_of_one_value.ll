p (s0 : [0..0]):
  out y : f32[7];
  for i1 = 0 to 5 {
    y[s0 + i1] := 1;
  }
  for i2 = 0 to 6 {
    y[i2] := 2;
  }
