# Every type of an index and some of a cell: one row for all lanes, a row for
# each lane, and steps between the lanes.
p ():
  in bytes : u8[35]; in shorts : u16[35]; in words : u32[35];
  in longs : i64[35]; in huge : u64[35]; in ints : i32[35];
  in x : f32[35]; in d : f64[35]; in b : bool[35]; in h : u16[35];
  in c : u8[35]; in n : bf16[35]; in l : i64[35];
  inout of_x : f32[40, 35]; inout of_d : f64[35, 90]; inout of_b : bool[99, 35];
  inout of_h : u16[35, 300]; inout of_c : u8[70, 35]; inout of_n : bf16[9, 35];
  inout of_l : i64[50, 35]; inout row : f32[9, 35]; inout wide : f64[300, 35];
  inout bits : bool[9, 35]; inout short : u16[9, 35]; inout byte : u8[9, 2, 35];
  vec i0 = 0 to 34 { of_x[bytes[i0], i0] := x[i0]; }
  vec i1 = 0 to 34 { of_d[i1, shorts[i1]] := d[i1]; }
  vec i2 = 0 to 34 { of_b[words[i2], -i2 + 34] := b[i2]; }
  vec i3 = 0 to 34 { of_h[i3, longs[i3]] := h[i3]; }
  vec i4 = 0 to 34 { of_c[huge[i4], i4] := c[i4]; }
  vec i5 = 0 to 34 { of_n[ints[i5], i5] := n[i5]; }
  vec i6 = 0 to 34 { of_l[bytes[i6], i6] := l[i6] * 3:i64; }
  for i7 = 0 to 34 {
    vec i8 = 0 to 34 { row[ints[i7], -i8 + 34] := x[i8]; }
    vec i9 = 0 to 34 { wide[bytes[i7], i9] := d[i9] + 1:f64; }
    vec i10 = 0 to 34 { bits[bytes[i7], i10] := b[i10]; }
    vec i11 = 0 to 34 { short[longs[i7], i11] := h[i11]; }
    vec i12 = 0 to 34 { byte[ints[i7], 1, i12] := c[i12]; }
  }
