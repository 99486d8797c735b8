# Sums in blocks, which a GPU adds at once, and the sums of these in order: of
# columns, of the gradient of a convolution's weights, of all cells in 4 lanes,
# and a product with one row, of which the lines of w are read across.
split ():
  in x : f32[60, 6];
  temp x.parts : f32[5, 6];
  out x.sum : f32[6];
  in images : f32[3, 7, 8];
  in g : f32[3, 5, 6, 4];
  temp w.parts : f32[3, 3, 3, 4];
  out w.grad : f32[3, 3, 4];
  in all : f32[192];
  temp all.parts : f32[6, 4];
  temp all.lanes : f32[4];
  out all.sum : f32[1];
  in w : f32[40, 50];
  in row : f32[50];
  out y : f32[40];
  zero_out x.parts;
  for i0 = 0 to 4 {
    for i1 = 0 to 11 {
      for i2 = 0 to 5 {
        x.parts[i0, i2] := x.parts[i0, i2] + x[12*i0 + i1, i2];
      }
    }
  }
  for i3 = 0 to 5 {
    x.sum[i3] := x.parts[0, i3];
    for i4 = 0 to 3 {
      x.sum[i3] := x.sum[i3] + x.parts[i4 + 1, i3];
    }
  }
  zero_out w.parts;
  for i5 = 0 to 2 {
    for i6 = 0 to 4 {
      for i7 = 0 to 5 {
        for i8 = 0 to 2 {
          for i9 = 0 to 2 {
            for i10 = 0 to 3 {
              w.parts[i5, i8, i9, i10] := fma(g[i5, i6, i7, i10], images[i5, i6 + i8, i7 + i9], w.parts[i5, i8, i9, i10]);
            }
          }
        }
      }
    }
  }
  zero_out w.grad;
  for i11 = 0 to 2 {
    for i12 = 0 to 2 {
      for i13 = 0 to 2 {
        for i14 = 0 to 3 {
          w.grad[i12, i13, i14] := w.grad[i12, i13, i14] + w.parts[i11, i12, i13, i14];
        }
      }
    }
  }
  zero_out all.parts;
  for i15 = 0 to 5 {
    for i16 = 0 to 7 {
      for i17 = 0 to 3 {
        all.parts[i15, i17] := all.parts[i15, i17] + all[32*i15 + 4*i16 + i17];
      }
    }
  }
  zero_out all.lanes;
  for i18 = 0 to 5 {
    for i19 = 0 to 3 {
      all.lanes[i19] := all.lanes[i19] + all.parts[i18, i19];
    }
  }
  all.sum[0] := all.lanes[0] + all.lanes[2] + (all.lanes[1] + all.lanes[3]);
  zero_out y;
  for i20 = 0 to 39 {
    for i21 = 0 to 49 {
      y[i20] := fma(w[i20, i21], row[i21], y[i20]);
    }
  }
