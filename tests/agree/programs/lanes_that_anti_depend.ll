# Each iteration reads what a later one writes, what the statement before has
# written, or, in order, some the one and some the other.
p ():
  inout a : f32[40]; inout b : f32[40]; inout c : f32[33];
  vec i0 = 0 to 38 { a[i0] := a[i0 + 1] + 1; }
  vec i1 = 0 to 38 { b[i1 + 1] := a[i1]; a[i1] := b[i1]; }
  for i2 = 0 to 32 { c[i2] := c[-i2 + 32]; }
