# Loops over rows, of which the last reads what the first wrote in tiles and the
# second in its own iteration: two parts, which together are all that it reads.
p ():
  temp b4 : u8[6, 6]; private b7 : u8[]; inout b8 : u8[6];
  for i43 = 0 to 2 { for i44 = 0 to 1 { b4[2*i43 + i44, 4] := 1:u8; } }
  for i17 = 0 to 5 { b4[i17, 5] := 1:u8; }
  for i26 = 0 to 5 {
    for i29 = 0 to 1 { b7[] := b4[i26, i29 + 4]; }
    b8[i26] := b7[];
  }
