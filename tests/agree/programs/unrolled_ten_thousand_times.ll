# More copies of a body than any code should have.
p ():
  in a : f32[100, 100]; inout s : f32[]; out y : f32[100, 100];
  unroll i0 = 0 to 99 {
    unroll i1 = 0 to 99 {
      y[i0, i1] := a[i0, i1] + 1;
      s[] := fma(a[i0, i1], 0.5, s[]);
    }
  }
