negations ():
  in a : f32[37];
  in b : f32[37];
  in c : f32[37];
  in d : f64[37];
  out factor : f32[37];
  out addend : f32[37];
  out twofold : f32[37];
  out square : f32[37];
  out thrice : f32[37];
  out kept : f32[37];
  out constants : f32[37];
  out wide : f64[37];
  /* A negated operand at each place, of values that are needed no more or still. */
  for i0 = 0 to 36 {
    factor[i0] := fma(-a[i0], b[i0], c[i0]) + fma(b[i0], -c[i0], a[i0] * 2);
  }
  for i1 = 0 to 36 {
    addend[i1] := fma(a[i1], b[i1], -c[i1]);
  }
  for i2 = 0 to 36 {
    twofold[i2] := fma(-a[i2], b[i2], -c[i2]) + fma(-a[i2], -b[i2], c[i2]);
  }
  for i3 = 0 to 36 {
    square[i3] := fma(-a[i3], -a[i3], a[i3]) + fma(-b[i3], b[i3], b[i3]);
  }
  for i4 = 0 to 36 {
    thrice[i4] := fma(fma(-c[i4], b[i4], 1), c[i4], -c[i4]);
  }
  for i5 = 0 to 36 {
    kept[i5] := fma(-c[i5], b[i5], a[i5]) * -c[i5];
  }
  for i6 = 0 to 36 {
    constants[i6] := fma(-a[i6], 3, 0.5) + fma(b[i6], 0.1, -c[i6]) + fma(-c[i6], -2, a[i6]);
  }
  for i7 = 0 to 36 {
    wide[i7] := fma(-d[i7], d[i7], 1:f64) * fma(d[i7], d[i7] + 1:f64, -d[i7]);
  }
