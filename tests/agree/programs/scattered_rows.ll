# Rows added to rows by number, some of no row and some of the same one; in
# lanes with a tail, in columns, and where each lane has its own row.
p ():
  in x : f32[24, 37]; temp ids : i32[24]; out y : f32[9, 37];
  inout columns : f32[37, 9]; inout steep : f32[24, 9]; out counts : i32[9];
  for i0 = 0 to 23 { ids[i0] := i32([i0 - 7]) * 3:i32 % 12:i32; }
  zero_out y;
  for i1 = 0 to 23 {
    vec i2 = 0 to 36 { y[ids[i1], i2] := y[ids[i1], i2] + x[i1, i2]; }
  }
  for i3 = 0 to 23 {
    for i4 = 0 to 36 {
      columns[-i4 + 36, ids[i3]] := columns[-i4 + 36, ids[i3]] * x[i3, i4];
    }
  }
  vec i5 = 0 to 23 { steep[i5, ids[i5]] := x[i5, 3] - steep[i5, ids[i5]]; }
  zero_out counts;
  for i6 = 0 to 23 { counts[ids[i6]] := counts[ids[i6]] + 1:i32; }
