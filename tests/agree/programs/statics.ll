# Static indices as places, as numbers, and one that is only a number.
p (batch : [0..4], step):
  in a : f32[5, 2, 9]; inout total : i64[]; out y : f32[9];
  vec i0 = 0 to 8 {
    y[i0] := a[batch, 1, i0] + a[-batch + 4, 0, -i0 + 8] + f32([step]);
  }
  for i1 = 0 to 8 { total[] := total[] + [3*i1 - 2*batch + 1000000007*step]; }
