# Constants of loops are in registers: as f32, f64 and i32 of the same bits, more
# than there are registers, and in loops beside and inside of each other.
p ():
  in x : f32[3, 40];
  in d : f64[3, 40];
  in n : i32[3, 40];
  out y : f32[3, 40];
  out e : f64[3, 40];
  out m : i32[3, 40];
  out r : f32[3];
  for i1 = 0 to 2 {
    for i2 = 0 to 39 {
      y[i1, i2] := abs(x[i1, i2] * 1.1 - 2.2) * 3.3 + neg(x[i1, i2]) * 4.4 - max(x[i1, i2], 5.5) * 6.6 + min(x[i1, i2], 7.7) * 8.8;
    }
    for i3 = 0 to 39 {
      e[i1, i3] := abs(d[i1, i3] * 1.1:f64 - 2.2:f64) * 3.3:f64 + neg(d[i1, i3]) * 4.4:f64;
    }
    for i4 = 0 to 39 {
      m[i1, i4] := n[i1, i4] * 3:i32 + abs(n[i1, i4] - 1066192077:i32);
    }
    r[i1] := x[i1, 7] * 1.1 + 3.3;
  }
