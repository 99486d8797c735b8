# A block of a transposed operand that has one step: the copy of it has no loop
# but that over its columns.
columns ():
  in x : f32[31, 13];
  out result : f32[31];
  zero_out result;
  for i0 = 0 to 30 {
    for i1 = 0 to 12 {
      for i2 = 0 to 30 {
        result[i0] := fma(x[i0, i1], x[i2, i1], result[i0]);
      }
    }
  }
