# A private buffer of one nest, of a size that no vector has.
p ():
  in a : i64[37]; private t : i64[37]; out y : i64[37];
  for i0 = 0 to 0 {
    vec i1 = 0 to 36 { t[i1] := a[i1] * 3:i64; }
    vec i2 = 0 to 36 { y[i2] := t[-i2 + 36] - a[i2]; }
  }
