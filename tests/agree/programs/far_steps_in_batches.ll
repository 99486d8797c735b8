# Products of which one operand is read a cache line a step.
far_steps_in_batches ():
  in a : f32[3, 4, 6, 20];
  in b : f32[3, 4, 6, 60];
  out y : f32[3, 20, 60];
  zero_out y;
  for i0 = 0 to 2 {
    for i1 = 0 to 19 {
      for i2 = 0 to 59 {
        for i3 = 0 to 3 {
          for i4 = 0 to 5 {
            y[i0, i1, i2] := fma(a[i0, i3, i4, i1], b[i0, i3, i4, i2], y[i0, i1, i2]);
          }
        }
      }
    }
  }
