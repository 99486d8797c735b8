# What lowering makes of a long sum: lanes, a tail, a tree.
p ():
  in x : f32[3, 150]; out y : f32[3]; private acc : f32[64];
  for i0 = 0 to 2 {
    vec i1 = 0 to 63 { acc[i1] := x[i0, i1]; }
    for i2 = 0 to 0 { vec i3 = 0 to 63 {
      acc[i3] := acc[i3] + x[i0, 64*i2 + i3 + 64]; } }
    vec i4 = 0 to 21 { acc[i4] := acc[i4] + x[i0, i4 + 128]; }
    vec i5 = 0 to 31 { acc[i5] := acc[i5] + acc[i5 + 32]; }
    vec i6 = 0 to 15 { acc[i6] := acc[i6] + acc[i6 + 16]; }
    vec i7 = 0 to 7 { acc[i7] := acc[i7] + acc[i7 + 8]; }
    vec i8 = 0 to 3 { acc[i8] := acc[i8] + acc[i8 + 4]; }
    vec i9 = 0 to 1 { acc[i9] := acc[i9] + acc[i9 + 2]; }
    vec i10 = 0 to 0 { acc[i10] := acc[i10] + acc[i10 + 1]; }
    y[i0] := acc[0];
  }
