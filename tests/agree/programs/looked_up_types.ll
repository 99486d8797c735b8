# Every type of an index and some of a cell, with steps between the lanes.
p ():
  in bytes : u8[61]; in shorts : u16[61]; in words : u32[61];
  in longs : i64[61]; in huge : u64[61]; in ints : i32[61];
  in a : f32[200, 3]; in b : f64[300]; in c : bool[250, 2]; in d : bf16[99];
  in e : i64[70]; in f : u8[40000];
  out a_of : f32[61]; out b_of : f64[61]; out c_of : bool[61];
  out d_of : f32[61]; out e_of : i64[61]; out f_of : u8[61];
  vec i0 = 0 to 60 { a_of[i0] := a[bytes[i0], 1] + a[ints[-i0 + 60], 2]; }
  vec i1 = 0 to 60 { b_of[i1] := b[bytes[i1]] + b[longs[i1]]; }
  vec i2 = 0 to 60 { c_of[i2] := c[bytes[i2], 1] | c[huge[i2], 0]; }
  vec i3 = 0 to 60 { d_of[i3] := f32(d[words[i3]]) + f32(d[bytes[i3]]); }
  vec i4 = 0 to 60 { e_of[i4] := e[huge[i4]] ^ e[bytes[i4]]; }
  vec i5 = 0 to 60 { f_of[i5] := f[shorts[i5]]; }
