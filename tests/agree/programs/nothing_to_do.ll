# Bodies that are empty, values that nothing reads.
p ():
  in a : f32[3]; temp t : f32[3]; inout y : f32[3];
  for i0 = 0 to 2 { vec i1 = 0 to 2 { } }
  par i2 = 0 to 2 { let v : f32 := a[i2]; }
  unroll i3 = 0 to 2 { /* nothing */ }
  vec i4 = 0 to 2 { t[i4] := a[i4]; }
  let w : f32 := y[0];
