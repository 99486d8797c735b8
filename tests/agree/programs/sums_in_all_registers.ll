# A sum of whole rows needs no registers beside those of its accumulators, with
# a tail it does: 512 columns are 32 vectors, 500 are 31 and 4 lanes.
p ():
  in x : f32[9, 512];
  in z : f32[9, 500];
  out y : f32[512];
  out t : f32[500];
  zero_out y;
  for i1 = 0 to 8 {
    for i2 = 0 to 511 {
      y[i2] := y[i2] + x[i1, i2];
    }
  }
  zero_out t;
  for i3 = 0 to 8 {
    for i4 = 0 to 499 {
      t[i4] := t[i4] + z[i3, i4];
    }
  }
