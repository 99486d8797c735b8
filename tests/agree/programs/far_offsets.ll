# Offsets of more than 8, 16 and 20 bits.
p (s : [0..2]):
  inout a : f32[3, 3, 40000]; out y : f32[3, 17];
  for i0 = 0 to 2 {
    vec i1 = 0 to 16 { y[i0, i1] := a[i0, s, 2*i1 + 39967] + a[s, 2, i1 + 33]; }
  }
  vec i2 = 0 to 16 { a[2, 2, -i2 + 39999] := y[s, i2] - a[0, 0, 32768]; }
