ors ():
  in a : i32[37];
  in b : i32[37];
  in c : i32[37];
  in d : i64[37];
  out first : i32[37];
  out second : i32[37];
  out both : i32[37];
  out constants : i32[37];
  out twice : i32[37];
  out wide : i64[37];
  out masks : i32[37];
  /* The and on either side, of any operand that is needed no more. */
  for i0 = 0 to 36 {
    first[i0] := (a[i0] & b[i0]) | c[i0];
  }
  for i1 = 0 to 36 {
    second[i1] := (a[i1] + 1:i32) | ((b[i1] + 2:i32) & (c[i1] + 3:i32));
  }
  for i2 = 0 to 36 {
    both[i2] := (a[i2] & b[i2]) | (c[i2] & a[i2]);
  }
  for i3 = 0 to 36 {
    constants[i3] := ((a[i3] & 255:i32) | 65536:i32) + ((a[i3] & 255:i32) | (b[i3] & -256:i32));
  }
  for i4 = 0 to 36 {
    twice[i4] := (a[i4] & b[i4]) | ((a[i4] & b[i4]) * c[i4]);
  }
  for i5 = 0 to 36 {
    wide[i5] := d[i5] | (d[i5] * 3:i64 & d[i5] * 5:i64);
  }
  for i6 = 0 to 36 {
    masks[i6] := select((a[i6] < b[i6]) | ((b[i6] < c[i6]) & (c[i6] < a[i6])), a[i6], c[i6]);
  }
