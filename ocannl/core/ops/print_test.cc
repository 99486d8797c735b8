// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/print.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

std::string Text(Expr e) {
  return PrintExpr(*e.pool(), e.id(),
                   [](const Leaf& leaf) { return absl::StrCat("x", leaf.id); });
}

TEST(PrintTest, InfixIsInParenthesesBelowTheRoot) {
  ExprPool pool;
  Expr x = MakeLeaf(pool, DType::kF32, 0);
  Expr y = MakeLeaf(pool, DType::kF32, 1);
  EXPECT_EQ(Text(x), "x0");
  EXPECT_EQ(Text(x + y * 2), "x0 + (x1 * 2)");
  EXPECT_EQ(Text(Fma(x, y, x + 1)), "fma(x0, x1, x0 + 1)");
  EXPECT_EQ(Text(-x), "neg(x0)");
  EXPECT_EQ(Text(Select(x < y, x, 0)), "select(x0 < x1, x0, 0)");
}

TEST(PrintTest, ConversionsAreTheirTypes) {
  ExprPool pool;
  Expr x = MakeLeaf(pool, DType::kF32, 0);
  EXPECT_EQ(Text(Convert(x, DType::kI64)), "i64(x0)");
  EXPECT_EQ(Text(Bitcast(x, DType::kU32)), "bits_u32(x0)");
}

TEST(PrintTest, ConstantsNameTheirTypeUnlessF32) {
  EXPECT_EQ(PrintConstant(MakeConstant(DType::kF32, 0.1)), "0.1");
  EXPECT_EQ(PrintConstant(MakeConstant(DType::kF64, 0.1)), "0.1:f64");
  EXPECT_EQ(PrintConstant(MakeConstant(DType::kF32, -0.0)), "-0");
  EXPECT_EQ(PrintConstant(MakeConstant(DType::kI32, -3)), "-3:i32");
  EXPECT_EQ(PrintConstant(MakeConstant(DType::kU8, 200)), "200:u8");
  EXPECT_EQ(PrintConstant(MakeConstant(DType::kBool, 1)), "true");
  EXPECT_EQ(PrintConstant(MakeConstant(DType::kF32, INFINITY)), "inf");
  EXPECT_EQ(PrintConstant(MakeConstant(DType::kF32, std::nan(""))), "nan");
}

TEST(PrintTest, PrintedNumbersReadBack) {
  for (double value : {0.0, 0.1, 1.0 / 3, 1e-45, 3.4028234663852886e38}) {
    for (DType dtype : {DType::kF32, DType::kF64, DType::kU8}) {
      const Constant constant = MakeConstant(dtype, value);
      const std::string text = PrintConstant(constant);
      EXPECT_EQ(ParseConstant(text.substr(0, text.find(':')), dtype), constant);
    }
  }
  EXPECT_EQ(ParseConstant("inf", DType::kF32),
            MakeConstant(DType::kF32, INFINITY));
  EXPECT_EQ(ParseConstant("0xff", DType::kU32), MakeConstant(DType::kU32, 255));
}

TEST(PrintTest, WhatIsNoNumberDoesNotParse) {
  EXPECT_EQ(ParseConstant("", DType::kF32), std::nullopt);
  EXPECT_EQ(ParseConstant("1x", DType::kF32), std::nullopt);
  EXPECT_EQ(ParseConstant("1.5", DType::kI32), std::nullopt);
  EXPECT_EQ(ParseConstant("256", DType::kU8), std::nullopt);
  EXPECT_EQ(ParseConstant("1", DType::kBool), std::nullopt);
  EXPECT_EQ(ParseConstant("449", DType::kF8E4M3),
            MakeConstant(DType::kF8E4M3, 448));
  EXPECT_EQ(ParseConstant("500", DType::kF8E4M3), std::nullopt);
  EXPECT_EQ(ParseConstant("-70000", DType::kF16), std::nullopt);
  EXPECT_EQ(ParseConstant("-inf", DType::kF16),
            MakeConstant(DType::kF16, -INFINITY));
}

}  // namespace
}  // namespace ocannl
