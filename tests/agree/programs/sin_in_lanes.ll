# The row of sin computes with 64 bits a lane, where the cells have 32.
p ():
  in a : f32[33]; in b : f32[]; out y : f32[33]; out z : f32[9];
  vec i0 = 0 to 32 { y[i0] := sin(a[i0]); }
  vec i1 = 0 to 8 { z[i1] := cos(b[]); }
