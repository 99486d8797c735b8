# Rows by numbers that are computed, some of them of no row; in lanes, with a
# tail, and in columns.
p ():
  in x : f32[9, 37]; temp ids : i32[24]; out y : f32[24, 37];
  out columns : f32[37, 24]; out ones : f32[24];
  for i0 = 0 to 23 { ids[i0] := i32([i0 - 7]) * 3:i32 % 12:i32; }
  for i1 = 0 to 23 { for i2 = 0 to 36 { y[i1, i2] := x[ids[i1], i2]; } }
  for i3 = 0 to 36 {
    for i4 = 0 to 23 { columns[i3, i4] := x[ids[i4], -i3 + 36] * 2; }
  }
  vec i5 = 0 to 23 { ones[i5] := x[ids[i5], i5 + 13] - x[4, ids[i5]]; }
