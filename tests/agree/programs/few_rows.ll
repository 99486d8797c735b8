# One and two rows of results, of outputs and terms around widths of vectors.
few_rows ():
  in x0 : f32[2, 17];
  in w0 : f32[1, 17];
  out y0 : f32[1];
  out z0 : f32[2, 1];
  in x1 : f32[2, 16];
  in w1 : f32[2, 16];
  out y1 : f32[2];
  out z1 : f32[2, 2];
  in x2 : f32[2, 15];
  in w2 : f32[7, 15];
  out y2 : f32[7];
  out z2 : f32[2, 7];
  in x3 : f32[2, 3];
  in w3 : f32[8, 3];
  out y3 : f32[8];
  out z3 : f32[2, 8];
  in x4 : f32[2, 100];
  in w4 : f32[15, 100];
  out y4 : f32[15];
  out z4 : f32[2, 15];
  in x5 : f32[2, 1];
  in w5 : f32[16, 1];
  out y5 : f32[16];
  out z5 : f32[2, 16];
  in x6 : f32[2, 512];
  in w6 : f32[17, 512];
  out y6 : f32[17];
  out z6 : f32[2, 17];
  in x7 : f32[2, 100];
  in w7 : f32[30, 100];
  out y7 : f32[30];
  out z7 : f32[2, 30];
  in x8 : f32[2, 7];
  in w8 : f32[33, 7];
  out y8 : f32[33];
  out z8 : f32[2, 33];
  in x9 : f32[2, 1000];
  in w9 : f32[100, 1000];
  out y9 : f32[100];
  out z9 : f32[2, 100];
  in x10 : f32[2, 16];
  in w10 : f32[128, 16];
  out y10 : f32[128];
  out z10 : f32[2, 128];
  zero_out y0;
  for i0 = 0 to 0 {
    for i1 = 0 to 16 {
      y0[i0] := fma(w0[i0, i1], x0[0, i1], y0[i0]);
    }
  }
  zero_out z0;
  for i2 = 0 to 1 {
    for i3 = 0 to 0 {
      for i4 = 0 to 16 {
        z0[i2, i3] := fma(w0[i3, i4], x0[i2, i4], z0[i2, i3]);
      }
    }
  }
  zero_out y1;
  for i5 = 0 to 1 {
    for i6 = 0 to 15 {
      y1[i5] := fma(w1[i5, i6], x1[0, i6], y1[i5]);
    }
  }
  zero_out z1;
  for i7 = 0 to 1 {
    for i8 = 0 to 1 {
      for i9 = 0 to 15 {
        z1[i7, i8] := fma(w1[i8, i9], x1[i7, i9], z1[i7, i8]);
      }
    }
  }
  zero_out y2;
  for i10 = 0 to 6 {
    for i11 = 0 to 14 {
      y2[i10] := fma(w2[i10, i11], x2[0, i11], y2[i10]);
    }
  }
  zero_out z2;
  for i12 = 0 to 1 {
    for i13 = 0 to 6 {
      for i14 = 0 to 14 {
        z2[i12, i13] := fma(w2[i13, i14], x2[i12, i14], z2[i12, i13]);
      }
    }
  }
  zero_out y3;
  for i15 = 0 to 7 {
    for i16 = 0 to 2 {
      y3[i15] := fma(w3[i15, i16], x3[0, i16], y3[i15]);
    }
  }
  zero_out z3;
  for i17 = 0 to 1 {
    for i18 = 0 to 7 {
      for i19 = 0 to 2 {
        z3[i17, i18] := fma(w3[i18, i19], x3[i17, i19], z3[i17, i18]);
      }
    }
  }
  zero_out y4;
  for i20 = 0 to 14 {
    for i21 = 0 to 99 {
      y4[i20] := fma(w4[i20, i21], x4[0, i21], y4[i20]);
    }
  }
  zero_out z4;
  for i22 = 0 to 1 {
    for i23 = 0 to 14 {
      for i24 = 0 to 99 {
        z4[i22, i23] := fma(w4[i23, i24], x4[i22, i24], z4[i22, i23]);
      }
    }
  }
  zero_out y5;
  for i25 = 0 to 15 {
    for i26 = 0 to 0 {
      y5[i25] := fma(w5[i25, i26], x5[0, i26], y5[i25]);
    }
  }
  zero_out z5;
  for i27 = 0 to 1 {
    for i28 = 0 to 15 {
      for i29 = 0 to 0 {
        z5[i27, i28] := fma(w5[i28, i29], x5[i27, i29], z5[i27, i28]);
      }
    }
  }
  zero_out y6;
  for i30 = 0 to 16 {
    for i31 = 0 to 511 {
      y6[i30] := fma(w6[i30, i31], x6[0, i31], y6[i30]);
    }
  }
  zero_out z6;
  for i32 = 0 to 1 {
    for i33 = 0 to 16 {
      for i34 = 0 to 511 {
        z6[i32, i33] := fma(w6[i33, i34], x6[i32, i34], z6[i32, i33]);
      }
    }
  }
  zero_out y7;
  for i35 = 0 to 29 {
    for i36 = 0 to 99 {
      y7[i35] := fma(w7[i35, i36], x7[0, i36], y7[i35]);
    }
  }
  zero_out z7;
  for i37 = 0 to 1 {
    for i38 = 0 to 29 {
      for i39 = 0 to 99 {
        z7[i37, i38] := fma(w7[i38, i39], x7[i37, i39], z7[i37, i38]);
      }
    }
  }
  zero_out y8;
  for i40 = 0 to 32 {
    for i41 = 0 to 6 {
      y8[i40] := fma(w8[i40, i41], x8[0, i41], y8[i40]);
    }
  }
  zero_out z8;
  for i42 = 0 to 1 {
    for i43 = 0 to 32 {
      for i44 = 0 to 6 {
        z8[i42, i43] := fma(w8[i43, i44], x8[i42, i44], z8[i42, i43]);
      }
    }
  }
  zero_out y9;
  for i45 = 0 to 99 {
    for i46 = 0 to 999 {
      y9[i45] := fma(w9[i45, i46], x9[0, i46], y9[i45]);
    }
  }
  zero_out z9;
  for i47 = 0 to 1 {
    for i48 = 0 to 99 {
      for i49 = 0 to 999 {
        z9[i47, i48] := fma(w9[i48, i49], x9[i47, i49], z9[i47, i48]);
      }
    }
  }
  zero_out y10;
  for i50 = 0 to 127 {
    for i51 = 0 to 15 {
      y10[i50] := fma(w10[i50, i51], x10[0, i51], y10[i50]);
    }
  }
  zero_out z10;
  for i52 = 0 to 1 {
    for i53 = 0 to 127 {
      for i54 = 0 to 15 {
        z10[i52, i53] := fma(w10[i53, i54], x10[i52, i54], z10[i52, i53]);
      }
    }
  }
