# What fma(a, b, c) of f16, and of bf16, is stored as: rounded to odd, then once.
narrow_fma ():
  in a : f16[37]; in b : f16[37]; in c : f16[37]; out half : f16[37];
  in p : bf16[37]; in q : bf16[37]; in r : bf16[37]; out brain : bf16[37];
  vec i0 = 0 to 36 {
    let v0 : f32 := f32(a[i0]) * f32(b[i0]);
    let v1 : f32 := v0 + f32(c[i0]);
    let v2 : i32 := bits_i32(v1);
    let v3 : f32 := v1 - v0;
    let v4 : f32 := (v0 - (v1 - v3)) + (f32(c[i0]) - v3);
    let v5 : f32 := select(v2 < 0:i32, neg(v4), v4);
    half[i0] := f16(bits_f32(select((v2 & 1:i32) == 0:i32, v2 + select(0 < v5, 1:i32, select(v5 < 0, -1:i32, 0:i32)), v2)));
  }
  for i1 = 0 to 36 {
    let v6 : f64 := f64(p[i1]) * f64(q[i1]);
    let v7 : f64 := v6 + f64(r[i1]);
    let v8 : f32 := f32(v7);
    let v9 : i32 := bits_i32(v8);
    let v10 : f64 := v7 - v6;
    let v11 : f64 := (v7 - f64(v8)) + ((v6 - (v7 - v10)) + (f64(r[i1]) - v10));
    let v12 : f64 := select(v9 < 0:i32, neg(v11), v11);
    brain[i1] := bf16(bits_f32(select((v9 & 1:i32) == 0:i32, v9 + select(0:f64 < v12, 1:i32, select(v12 < 0:f64, -1:i32, 0:i32)), v9)));
  }
