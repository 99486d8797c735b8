p ():
  in x : f32[16];
  out y : f32[4];
  out z : f32[4];
  private t : f32[16];
  for i9 = 0 to 0 {
    vec i1 = 0 to 15 {
      t[i1] := x[i1];
    }
    for i2 = 0 to 3 {
      y[i2] := t[12] + t[2];
      vec i3 = 0 to 7 {
        t[i3] := t[i3] * 2 + x[i2 + 4];
      }
      z[i2] := t[0];
    }
  }
