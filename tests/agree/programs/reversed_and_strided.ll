p ():
  in a : f32[100]; in b : f64[7, 33]; in c : u8[200];
  out x : f32[33]; out y : f64[33, 7]; out z : u8[40]; out u : f32[40];
  vec i0 = 0 to 32 { x[-i0 + 32] := a[3*i0 + 1]; }
  for i1 = 0 to 6 { vec i2 = 0 to 32 { y[i2, i1] := b[i1, -i2 + 32]; } }
  vec i3 = 0 to 39 { z[i3] := c[5*i3] + c[-5*i3 + 199]; }
  vec i4 = 0 to 39 { u[i4] := f32(c[2*i4]) * a[2*i4 + 20]; }
