# One index for all lanes, of every width of cell, with tails.
p ():
  in id : i32[5]; in ids : u8[5]; in far : i64[5];
  in a : f32[3, 21]; in b : f64[200, 13]; in c : bool[300, 19];
  in d : u16[256, 35]; in e : f32[7, 21, 2];
  out a_of : f32[5, 21]; out b_of : f64[5, 13]; out c_of : bool[5, 19];
  out d_of : u16[5, 35]; out e_of : f32[5, 21]; out all : f32[5, 21];
  for i0 = 0 to 4 {
    vec i1 = 0 to 20 { a_of[i0, i1] := a[id[i0], i1] + a[ids[i0], -i1 + 20]; }
    vec i2 = 0 to 12 { b_of[i0, i2] := b[ids[i0], i2] - b[far[i0], i2]; }
    vec i3 = 0 to 18 { c_of[i0, i3] := c[ids[i0], i3]; }
    vec i4 = 0 to 34 { d_of[i0, i4] := d[ids[i0], i4]; }
    vec i5 = 0 to 20 { e_of[i0, i5] := e[id[i0], i5, 1] * e[2, ids[i0], 0]; }
    vec i6 = 0 to 20 { all[i0, i6] := a[id[i0], 4]; }
  }
