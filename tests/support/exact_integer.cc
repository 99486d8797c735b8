// SPDX-License-Identifier: Apache-2.0
#include "tests/support/exact_integer.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

Int128 Product(Int128 a, Int128 b) {
  return static_cast<Int128>(static_cast<unsigned __int128>(a) *
                             static_cast<unsigned __int128>(b));
}

}  // namespace

Int128 ExactInteger(Op op, int width, Int128 a, Int128 b, Int128 c) {
  const Int128 modulus = Int128{1} << width;
  // Operands of shifts count as unsigned.
  const Int128 amount = b < 0 ? b + modulus : b;
  const Int128 bits = a < 0 ? a + modulus : a;
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return Product(a, b);
    case Op::kMul3:
      return Product(Product(a, b), c);
    case Op::kDiv:
      return b == 0 ? 0 : a / b;
    case Op::kRem:
      return b == 0 ? 0 : a % b;
    case Op::kNeg:
      return -a;
    case Op::kAbs:
      return a < 0 ? -a : a;
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
    case Op::kLess:
      return a < b;
    case Op::kLessEqual:
      return a <= b;
    case Op::kEqual:
      return a == b;
    case Op::kNotEqual:
      return a != b;
    case Op::kSelect:
      return a != 0 ? b : c;
    case Op::kAnd:
      return a & b;
    case Op::kOr:
      return a | b;
    case Op::kXor:
      return a ^ b;
    case Op::kNot:
      return -1 - a;
    case Op::kShl:
      return amount < width ? bits * (Int128{1} << amount) % modulus : 0;
    case Op::kShr:
      return amount < width ? a >> amount : (a < 0 ? -1 : 0);
    case Op::kRotl:
      return (bits << amount % width) | (bits >> (width - amount % width));
    case Op::kConvert:
    case Op::kBitcast:
      return a;
    default:
      ADD_FAILURE() << "write here what " << Info(op).name << " of integers is";
      return 0;
  }
}

}  // namespace ocannl
