# Locals that loops inside and around change.
p ():
  in a : f32[6, 20]; out y : f32[6]; out z : f32[6, 20];
  let total : f32 := 0;
  for i0 = 0 to 5 {
    let row : f32 := a[i0, 0];
    for i1 = 0 to 19 {
      let v : f32 := a[i0, i1] * 2;
      v := v + row;
      z[i0, i1] := v * v;
      row := row + 1;
    }
    for i2 = 0 to 19 { row := fma(a[i0, i2], row, 1); row := row * 0.25; }
    total := total + row;
    y[i0] := total;
  }
