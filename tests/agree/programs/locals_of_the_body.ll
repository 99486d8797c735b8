# Locals of the body that several nests, and so several kernels, read and set.
locals ():
  in x : f32[70];
  inout y : f32[70];
  out z : bool[3];
  let v0 : f32 := 2;
  for i1 = 0 to 69 {
    y[i1] := x[i1] * v0;
  }
  v0 := v0 + x[3];
  let v1 : bool := v0 < 1;
  for i2 = 0 to 69 {
    y[i2] := y[i2] + v0;
  }
  for i3 = 0 to 2 {
    v0 := v0 * y[i3];
    z[i3] := v1;
  }
  y[0] := y[0] + v0;
