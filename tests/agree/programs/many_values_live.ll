# More values than registers, in lanes of both widths.
p ():
  in a : f32[40, 17]; in b : f64[40, 9]; out y : f32[17]; out z : f64[9];
  vec i0 = 0 to 16 {
    let v0 : f32 := a[0, i0] + a[20, i0]; let v1 : f32 := a[1, i0] + a[21, i0];
    let v2 : f32 := a[2, i0] + a[22, i0]; let v3 : f32 := a[3, i0] + a[23, i0];
    let v4 : f32 := a[4, i0] + a[24, i0]; let v5 : f32 := a[5, i0] + a[25, i0];
    let v6 : f32 := a[6, i0] + a[26, i0]; let v7 : f32 := a[7, i0] + a[27, i0];
    let v8 : f32 := a[8, i0] + a[28, i0]; let v9 : f32 := a[9, i0] + a[29, i0];
    let w0 : f32 := v0 * v9; let w1 : f32 := v1 * v8; let w2 : f32 := v2 * v7;
    let w3 : f32 := v3 * v6; let w4 : f32 := v4 * v5; let w5 : f32 := v5 / v0;
    let w6 : f32 := v6 / v1; let w7 : f32 := v7 / v2; let w8 : f32 := v8 / v3;
    let w9 : f32 := v9 / v4; let x0 : f32 := exp(v0); let x1 : f32 := tanh(v1);
    let x2 : f32 := exp(v2); let x3 : f32 := tanh(v3); let x4 : f32 := exp(v4);
    let x5 : f32 := w0 - w9; let x6 : f32 := w1 - w8; let x7 : f32 := w2 - w7;
    y[i0] := v0 + v1 + v2 + v3 + v4 + v5 + v6 + v7 + v8 + v9 + w0 + w1 + w2 +
             w3 + w4 + w5 + w6 + w7 + w8 + w9 + x0 + x1 + x2 + x3 + x4 + x5 +
             x6 + x7;
  }
  vec i1 = 0 to 8 {
    z[i1] := ((((b[0, i1] + b[1, i1]) * (b[2, i1] + b[3, i1])) +
               ((b[4, i1] + b[5, i1]) * (b[6, i1] + b[7, i1]))) *
              (((b[8, i1] + b[9, i1]) * (b[10, i1] + b[11, i1])) +
               ((b[12, i1] + b[13, i1]) * (b[14, i1] + b[15, i1])))) +
             ((((b[16, i1] + b[17, i1]) * (b[18, i1] + b[19, i1])) +
               ((b[20, i1] + b[21, i1]) * (b[22, i1] + b[23, i1]))) *
              (((b[24, i1] + b[25, i1]) * (b[26, i1] + b[27, i1])) +
               ((b[28, i1] + b[29, i1]) * (b[30, i1] + b[31, i1]))));
  }
