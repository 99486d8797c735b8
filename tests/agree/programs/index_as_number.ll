# Indices of lanes, that 32 bits can hold or not, as numbers of either width.
p (s):
  out x : i64[5]; out y : i64[17]; out z : f32[17]; inout u : i64[9];
  vec i0 = 0 to 4 { x[i0] := [-i0 + 1]; }
  vec i1 = 0 to 16 { y[i1] := [3000000000*i1 - s]; }
  for i2 = 0 to 2 { vec i3 = 0 to 16 { z[i3] := f32([2*i3 - 7*i2 + s]); } }
  vec i4 = 0 to 8 { let v : i64 := [i4 - 4]; u[i4] := u[i4] * v + v; }
