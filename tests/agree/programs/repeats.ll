# Loops that move nothing: the last iteration is what stays.
p ():
  in a : f32[7]; temp t : f32[]; out y : f32[5]; out z : f32[];
  for i0 = 0 to 0 { t[] := 1; }
  for i1 = 0 to 6 { vec i2 = 0 to 4 { y[i2] := a[i1] + t[]; } }
  for i3 = 0 to 6 { z[] := a[i3] * 2; }
