# Iterations of `par` that are not independent run in order all the same.
p ():
  inout a : f32[64, 8]; inout s : f32[]; out last : i32[];
  par i0 = 0 to 62 { vec i1 = 0 to 7 { a[i0 + 1, i1] := a[i0, i1] + 1; } }
  par i2 = 0 to 63 { s[] := s[] + a[i2, 3]; }
  par i3 = 0 to 63 { last[] := i32([i3]); }
