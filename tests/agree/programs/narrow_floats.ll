# Floats of 8 and 16 bits, side by side, apart, in tails and one by one.
narrow ():
  in a : f16[37]; in b : bf16[37]; in c : f8e4m3[37]; in d : f8e5m2[37];
  in e : u16[37]; in x : f32[37]; in w : f64[37];
  out half : f16[37]; out brain : bf16[37]; out small : f8e4m3[37];
  out wide : f8e5m2[37]; out word : u16[37]; out apart : f16[37, 3];
  out sum : f32[37]; out one : bf16[]; out back : f64[19]; out last : u16[37];
  out bits : u16[37];
  vec i0 = 0 to 36 {
    half[i0] := f16(f32(a[i0]) + x[i0]);
    brain[i0] := bf16(f32(b[i0]) * x[i0]);
    small[i0] := f8e4m3(f32(c[i0]) - x[i0]);
    wide[i0] := f8e5m2(f32(d[i0]) - x[i0]);
    # The one NaN too.
    bits[i0] := bits_u16(f16(x[i0])) ^ bits_u16(bf16(x[i0]));
    word[i0] := e[i0] * e[i0] + u16(x[i0]);
    sum[i0] := (f32(a[i0]) + f32(b[i0])) + (f32(c[i0]) + f32(d[i0]));
  }
  vec i1 = 0 to 36 {
    apart[i1, 1] := f16(w[i1]);
    last[i1] := rotl(e[i1] >> 3:u16, 5:u16) | (e[36 - i1] & 255:u16);
  }
  for i2 = 0 to 36 { apart[i2, 0] := select(x[i2] < 0, a[36 - i2], a[i2]); }
  for i3 = 0 to 36 { apart[i3, 2] := f16(e[i3]); }
  for i4 = 0 to 18 { back[i4] := f64(a[2*i4]) + f64(b[2*i4]); }
  one[] := bf16(w[5]);
