# Copies between cells that are apart, of one and of two bytes: no arithmetic.
copies ():
  in a : u8[60]; in b : u16[60]; in c : bf16[60]; in d : bool[60];
  out p : u8[19]; out q : u16[19]; out r : bf16[19, 2]; out s : bool[19];
  vec i0 = 0 to 18 { p[i0] := a[3*i0]; }
  vec i1 = 0 to 18 { q[i1] := b[3*i1 + 1]; }
  vec i2 = 0 to 18 { r[i2, 0] := c[2*i2]; }
  vec i3 = 0 to 18 { r[i3, 1] := c[i3]; }
  vec i4 = 0 to 18 { s[i4] := d[3*i4]; }
