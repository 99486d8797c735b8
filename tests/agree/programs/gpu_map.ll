# Blocks of threads; the last block has fewer cells than threads.
map ():
  in x : f32[70];
  out y : f32[70];
  grid i0 = 0 to 3 {
    thread i1 = 0 to 15 {
      y[16*i0 + i1] := x[16*i0 + i1] * 3;
    }
  }
  grid i2 = 0 to 0 {
    thread i3 = 0 to 5 {
      y[i3 + 64] := x[i3 + 64] * 3;
    }
  }
