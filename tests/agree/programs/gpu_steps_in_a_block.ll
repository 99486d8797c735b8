# What the threads of a block hand to each other from step to step.
steps (n : [0..3]):
  in x : f32[4, 12];
  inout y : f32[12];
  shared t : f32[12];
  grid i0 = 0 to 0 {
    thread i1 = 0 to 11 {
      t[i1] := y[i1] * x[n, i1];
    }
    for i2 = 0 to 6 {
      thread i3 = 0 to 11 {
        y[i3] := fma(t[11 - i3], 0.5, y[i3]);
      }
      thread i4 = 0 to 11 {
        t[i4] := t[i4] + y[i4] * x[n, 11 - i4];
      }
    }
  }
