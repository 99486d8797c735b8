# Each iteration needs what those before have done: no lanes, no threads.
p ():
  inout a : f32[40]; inout b : i32[40]; inout c : f64[];
  inout d : f32[64, 8]; inout s : f32[]; out last : i32[];
  in e : f64[40];
  for i0 = 0 to 38 { a[i0 + 1] := a[i0] * 0.5 + a[i0 + 1]; }
  for i1 = 0 to 35 { b[i1 + 4] := b[i1] + 1:i32; }
  for i2 = 0 to 39 { c[] := c[] + e[i2]; }
  for i3 = 0 to 62 { vec i4 = 0 to 7 { d[i3 + 1, i4] := d[i3, i4] + 1; } }
  for i5 = 0 to 63 { s[] := s[] + d[i5, 3]; }
  for i6 = 0 to 63 { last[] := i32([i6]); }
