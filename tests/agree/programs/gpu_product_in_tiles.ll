# Tiles of both operands in shared memory, sums in registers of a thread. The
# phases that copy have other shapes than the one that multiplies.
product ():
  in a : f32[16, 24];
  in b : f32[24, 32];
  out c : f32[16, 32];
  shared sa : f32[8, 8];
  shared sb : f32[8, 16];
  private acc : f32[4, 4, 2, 4];
  grid i0 = 0 to 1 {
    grid i1 = 0 to 1 {
      thread i2 = 0 to 3 {
        thread i3 = 0 to 3 {
          unroll i4 = 0 to 1 {
            unroll i5 = 0 to 3 {
              acc[i2, i3, i4, i5] := 0;
            }
          }
        }
      }
      for i6 = 0 to 2 {
        thread i7 = 0 to 7 {
          for i8 = 0 to 7 {
            sa[i7, i8] := a[8*i0 + i7, 8*i6 + i8];
          }
        }
        thread i9 = 0 to 15 {
          for i10 = 0 to 7 {
            sb[i10, i9] := b[8*i6 + i10, 16*i1 + i9];
          }
        }
        thread i11 = 0 to 3 {
          thread i12 = 0 to 3 {
            unroll i13 = 0 to 7 {
              unroll i14 = 0 to 1 {
                unroll i15 = 0 to 3 {
                  acc[i11, i12, i14, i15] := fma(sa[2*i11 + i14, i13], sb[i13, 4*i12 + i15], acc[i11, i12, i14, i15]);
                }
              }
            }
          }
        }
      }
      thread i16 = 0 to 3 {
        thread i17 = 0 to 3 {
          unroll i18 = 0 to 1 {
            unroll i19 = 0 to 3 {
              c[8*i0 + 2*i16 + i18, 16*i1 + 4*i17 + i19] := acc[i16, i17, i18, i19];
            }
          }
        }
      }
    }
  }
