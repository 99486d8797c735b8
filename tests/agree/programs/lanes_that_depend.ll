# Each iteration reads what the one before has written.
p ():
  inout a : f32[40]; inout b : i32[40]; inout c : f64[];
  in d : f64[40];
  vec i0 = 0 to 38 { a[i0 + 1] := a[i0] * 0.5 + a[i0 + 1]; }
  vec i1 = 0 to 35 { b[i1 + 4] := b[i1] + 1:i32; }
  vec i2 = 0 to 39 { c[] := c[] + d[i2]; }
