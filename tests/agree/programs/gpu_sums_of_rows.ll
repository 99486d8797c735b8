# A block a row: each thread adds two lanes, then a tree of phases in which
# half of the threads before has something to do.
sums ():
  in x : f32[5, 16];
  out s : f32[5];
  shared t : f32[8];
  grid i0 = 0 to 4 {
    thread i1 = 0 to 7 {
      t[i1] := x[i0, i1] + x[i0, i1 + 8];
    }
    thread i2 = 0 to 3 {
      t[i2] := t[i2] + t[i2 + 4];
    }
    thread i3 = 0 to 1 {
      t[i3] := t[i3] + t[i3 + 2];
    }
    thread i4 = 0 to 0 {
      s[i0] := t[0] + t[1];
    }
  }
