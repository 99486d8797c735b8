# The remainder of a map, with a private scalar, is fused into the kernel of a
# product: the scalar's definition and use must stay in one phase.
structured ():
  temp b6 : f32[1, 5];
  inout b7 : f32[1, 5];
  in b9 : f32[1];
  inout b10 : f32[1, 1];
  for i5 = 0 to 0 {
    for i6 = 0 to 4 {
      b6[0, i6] := 1;
    }
  }
  for i7 = 0 to 0 {
    for i8 = 0 to 4 {
      b7[0, i8] := b6[i7, i8];
    }
  }
  for i9 = 0 to 0 {
    for i10 = 0 to 0 {
      for i11 = 0 to 3 {
        b10[i9, i10] := fma(b7[i9, 0], b9[i10], b10[i9, i10]);
      }
    }
  }
