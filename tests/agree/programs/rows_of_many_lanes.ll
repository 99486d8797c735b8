# More lanes behind a reduction of rows than a GPU's block has threads; and a
# comment that a compiler of C would go on with in the next line.
rows ():
  in x : f32[6, 1100];
  private q : f32[64];
  temp z : f32[6];
  out y : f32[6, 1100];
  for i0 = 0 to 5 {
    vec i1 = 0 to 63 { q[i1] := x[i0, i1]; }
    /* the sum \
       of two lanes */
    vec i2 = 0 to 31 { q[i2] := q[i2] + q[i2 + 32]; }
    z[i0] := q[0] + q[31];
  }
  for i3 = 0 to 5 { vec i4 = 0 to 1099 { y[i3, i4] := x[i3, i4] * z[i3]; } }
