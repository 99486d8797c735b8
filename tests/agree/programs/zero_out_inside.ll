# Zeroed again in each iteration, and in the middle of it.
p ():
  in a : i32[5, 19]; temp t : i32[19]; inout s : i32[19]; out y : i32[5, 19];
  for i0 = 0 to 4 {
    zero_out t;
    vec i1 = 0 to 18 { t[i1] := t[i1] + a[i0, i1]; s[i1] := s[i1] + t[i1]; }
    vec i2 = 0 to 18 { y[i0, i2] := t[i2] - s[i2]; }
    zero_out s;
  }
