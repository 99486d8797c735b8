# Independent rows, with scratch of their own and a local.
p ():
  in a : f32[37, 50]; private t : f32[50]; out y : f32[37, 50]; out m : f32[37];
  par i0 = 0 to 36 {
    let top : f32 := -inf;
    for i1 = 0 to 49 { top := max(top, a[i0, i1]); }
    vec i2 = 0 to 49 { t[i2] := exp(a[i0, i2] - top); }
    vec i3 = 0 to 49 { y[i0, i3] := t[i3] / (1 + t[-i3 + 49]); }
    m[i0] := top;
  }
