# A private array of 320 KB: a thread of a GPU has it in its local memory.
p ():
  in x : f64[2];
  inout y : f64[2];
  private t : f64[40000];
  for i0 = 0 to 1 {
    for i1 = 0 to 39999 {
      t[i1] := x[i0] + f64([i1]);
    }
    for i2 = 0 to 39999 {
      y[i0] := y[i0] * 0.5:f64 + t[-i2 + 39999];
    }
  }
