// SPDX-License-Identifier: Apache-2.0
//
// Conversions: to integers they saturate, with 0 for NaN; between floats they
// round to even, with one NaN.
#include "ocannl/jit/vcode/encoding.h"
#include "ocannl/jit/vcode/passes/legalizer.h"

namespace ocannl::jit {

std::optional<Value> Legalizer::ExpandConvert(const Inst& inst) {
  const DType to = inst.dtype;
  const DType from = inst.operand;
  const Value a = inst.args[0];
  if (to == from) return a;
  if (from == DType::kBool) {
    const Value one = ConstantOf(Promoted(to), MakeConstant(to, 1).bits);
    return Select(Promoted(to), a, one, ConstantOf(Promoted(to), 0));
  }
  if (IsNarrow(from)) return Widen(inst);
  if (IsNarrow(to)) return Narrow(inst);
  if (to == DType::kBool) {
    if (HasMasks(isa_) && IsInteger(from)) {
      return Define(New(Opcode::kTest, to, Promoted(from), a, a));
    }
    const Value zero =
        InRegister(ConstantOf(Promoted(from), 0), Promoted(from));
    return Compare(Op::kNotEqual, Promoted(from), a, zero);
  }
  if (IsFloat(to)) return ToFloat(inst);
  return IsFloat(from) ? ToInteger(inst) : BetweenIntegers(inst);
}

Value Legalizer::BetweenIntegers(const Inst& inst) {
  const DType to = inst.dtype;
  const DType from = inst.operand;
  const Value a = inst.args[0];
  if (IsWide(to) == IsWide(from)) return ZeroExtend(to, a);
  if (IsWide(to)) {
    return Convert(DType::kI64, IsSigned(from) ? DType::kI32 : DType::kU32, a);
  }
  return ZeroExtend(to, HasMasks(isa_) ? Convert(DType::kI32, DType::kI64, a)
                                       : LowHalves(DType::kI32, a));
}

std::optional<Value> Legalizer::ToFloat(const Inst& inst) {
  const Value a = inst.args[0];
  if (SizeOf(inst.operand) < 4) return Convert(inst.dtype, DType::kI32, a);
  if (inst.operand != DType::kU32) return std::nullopt;
  return U32ToFloat(inst.dtype, a);
}

Value Legalizer::U32ToFloat(DType to, Value a) {
  constexpr DType kU32 = DType::kU32;
  if (to == DType::kF64) {
    // As a signed number that is less by 2^31, which f64 takes back exactly.
    a = Apply(Op::kXor, kU32, a, ConstantOf(kU32, 0x80000000));
    a = Convert(to, DType::kI32, a);
    return Apply(Op::kAdd, to, a, Number(to, 0x1p31));
  }
  // Both halves are exact; their sum rounds once.
  Value high = Apply(Op::kShr, kU32, a, ConstantOf(kU32, 16));
  high = Convert(to, DType::kI32, high);
  high = Apply(Op::kMul, to, high, Number(to, 0x1p16));
  const Value low = Apply(Op::kAnd, kU32, a, ConstantOf(kU32, 0xffff));
  return Apply(Op::kAdd, to, high, Convert(to, DType::kI32, low));
}

std::optional<Value> Legalizer::ToInteger(const Inst& inst) {
  const DType to = inst.dtype;
  if (inst.operand != DType::kF32 || IsWide(to)) return std::nullopt;
  const Value a = inst.args[0];
  if (to == DType::kI32) return F32ToI32(a);
  if (to == DType::kU32 && !HasMasks(isa_)) return std::nullopt;
  // max(a, 0) is 0 where a is NaN.
  const Value zero = InRegister(Number(DType::kF32, 0), DType::kF32);
  Value clamped = Apply(Op::kMax, DType::kF32, a, zero);
  if (to == DType::kU32) {
    return Define(New(Opcode::kToU32, to, DType::kF32, clamped));
  }
  const double greatest = to == DType::kU8 ? 0xff : 0xffff;
  clamped =
      Apply(Op::kMin, DType::kF32, clamped, Number(DType::kF32, greatest));
  return Define(New(Opcode::kToI32, DType::kI32, DType::kF32, clamped));
}

Value Legalizer::F32ToI32(Value a) {
  constexpr DType kF32 = DType::kF32;
  constexpr DType kI32 = DType::kI32;
  const Value bound = InRegister(Number(kF32, 0x1p31), kF32);
  const Value is_beyond = Compare(Op::kLessEqual, kF32, bound, a);
  const Value is_number = Compare(Op::kEqual, kF32, a, a);
  const Value number = Define(New(Opcode::kToI32, kI32, kF32, a));
  const Value greatest = ConstantOf(kI32, 0x7fffffff);
  const Value clamped = Select(kI32, is_beyond, greatest, number);
  return Select(kI32, is_number, clamped, ConstantOf(kI32, 0));
}

// Lanes hold the floats of 8 and 16 bits as memory does, with zeros above.
std::optional<Value> Legalizer::Widen(const Inst& inst) {
  Value a = inst.args[0];
  if (inst.dtype != DType::kF32) {
    return Convert(inst.dtype, DType::kF32,
                   Convert(DType::kF32, inst.operand, a));
  }
  auto shifted = [&](int bits) {
    return Apply(Op::kShl, DType::kU32, a, ConstantOf(DType::kU32, bits));
  };
  switch (inst.operand) {
    case DType::kBF16:
      return shifted(16);
    case DType::kF8E5M2:  // the high byte of an f16
      a = shifted(8);
      [[fallthrough]];
    case DType::kF16:
      return Define(
          New(Opcode::kWidenF16, DType::kF32, DType::kF16, NarrowToWords(a)));
    default:
      return std::nullopt;
  }
}

Value Legalizer::NarrowToWords(Value lanes) {
  constexpr DType kU16 = DType::kU16;
  constexpr DType kU32 = DType::kU32;
  if (HasMasks(isa_)) {
    return Define(New(Opcode::kNarrowWords, kU16, kU32, lanes));
  }
  Value high = lanes;
  if (lanes_ == 8) {
    Inst half = New(Opcode::kExtract, kU32, kU32, lanes);
    half.lane = 4;
    high = Define(half);
  }
  return Define(New(Opcode::kPackWords, kU16, kU16, lanes, high));
}

std::optional<Value> Legalizer::Narrow(const Inst& inst) {
  constexpr DType kU32 = DType::kU32;
  const Value a = inst.args[0];
  if (inst.operand != DType::kF32) return std::nullopt;
  Value rounded;
  if (inst.dtype == DType::kF16) {
    const Value words =
        Define(New(Opcode::kNarrowF16, DType::kF16, DType::kF32, a));
    rounded = Define(New(Opcode::kWidenWords, kU32, DType::kU16, words));
  } else if (inst.dtype == DType::kBF16) {
    // (a + 0x7fff + bit 16 of a) >> 16
    const Value sixteen = ConstantOf(kU32, 16);
    Value sum = Apply(Op::kShr, kU32, a, sixteen);
    sum = Apply(Op::kAnd, kU32, sum, ConstantOf(kU32, 1));
    sum = Apply(Op::kAdd, kU32, sum, a);
    sum = Apply(Op::kAdd, kU32, sum, ConstantOf(kU32, 0x7fff));
    rounded = Apply(Op::kShr, kU32, sum, sixteen);
  } else {
    return std::nullopt;
  }
  const uint32_t nan = inst.dtype == DType::kF16 ? F16::kNaN : BF16::kNaN;
  const Value is_nan = Compare(Op::kNotEqual, DType::kF32, a, a);
  return Select(kU32, is_nan, ConstantOf(kU32, nan), rounded);
}

}  // namespace ocannl::jit
