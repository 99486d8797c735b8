// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/check.h"
#include "ocannl/jit/vcode/encoding.h"
#include "ocannl/jit/vcode/operands.h"
#include "ocannl/jit/vcode/passes/legalizer.h"
#include "ocannl/jit/vcode/passes/passes.h"

namespace ocannl::jit {
namespace {

constexpr uint64_t kOnes = ~uint64_t{0};

}  // namespace

bool Legalizer::IsLegal(const Inst& inst) const {
  if (inst.opcode == Opcode::kSelect) {
    if (HasMasks(isa_)) return inst.dtype != DType::kBool;
    return !IsWide(inst.dtype) ||
           IsWide(nest_.registers[inst.args[0].index].dtype);
  }
  if (inst.opcode != Opcode::kApply) return true;
  const bool makes_wide_mask =
      !HasMasks(isa_) && inst.dtype == DType::kBool && IsWide(inst.operand);
  return !makes_wide_mask && EncodingOf(inst, isa_).id != 0;
}

void Legalizer::Run() {
  for (size_t k = 0; k < nest_.constants.size(); ++k) {
    constants_.try_emplace(nest_.constants[k], static_cast<int32_t>(k));
  }
  const std::vector<Inst> before = std::exchange(nest_.insts, {});
  const std::vector<bool> expands_root = RootsToExpand(before);
  insts_.reserve(2 * before.size());
  for (size_t k = 0; k < before.size(); ++k) {
    const Inst& inst = before[k];
    if (IsLegal(inst) && !expands_root[k]) {
      insts_.push_back(inst);
      continue;
    }
    lanes_ = inst.lanes;
    const int64_t known = std::ssize(nest_.registers);
    std::optional<Value> value = Expand(inst);
    if (!value) {
      insts_.push_back(inst);
      continue;
    }
    if (value->kind != Value::kReg || value->index < known) {
      value = Make(Opcode::kCopy, inst.dtype, *value);
    }
    // The last instruction defines it: in the place of `inst`.
    CHECK(insts_.back().dst == value->reg());
    insts_.back().dst = inst.dst;
    Register& reg = nest_.registers[inst.dst.index];
    if (!reg.is_mutable) reg = nest_.registers.back();
    nest_.registers.pop_back();
  }
  nest_.insts = std::move(insts_);
}

std::optional<Value> Legalizer::Expand(const Inst& inst) {
  if (inst.opcode == Opcode::kSelect) return ExpandSelect(inst);
  switch (inst.op) {
    case Op::kBitcast:
      return inst.args[0];
    case Op::kConvert:
      return ExpandConvert(inst);
    case Op::kSqrt:
      if (inst.dtype == DType::kF32) return ExpandRoot(inst);
      break;
    case Op::kMinimum:
    case Op::kMaximum:
      return ExpandExtreme(inst);
    default:
      break;
  }
  if (inst.operand == DType::kBool) return ExpandMask(inst);
  if (inst.dtype == DType::kBool) return ExpandCompare(inst);
  return IsInteger(inst.dtype) ? ExpandInteger(inst) : std::nullopt;
}

// ---- Integers and masks -----------------------------------------------------

std::optional<Value> Legalizer::ExpandInteger(const Inst& inst) {
  const auto& [a, b, c] = inst.args;
  const DType type = inst.operand;
  if (SizeOf(type) < 4) {
    if (inst.op == Op::kDiv || inst.op == Op::kRem || inst.op == Op::kRotl) {
      return std::nullopt;
    }
    if (inst.op == Op::kAbs) return a;
    const Value value = Apply(inst.op, DType::kU32, a, b);
    const bool fits = inst.op == Op::kAnd || inst.op == Op::kOr ||
                      inst.op == Op::kXor || inst.op == Op::kMin ||
                      inst.op == Op::kMax || inst.op == Op::kShr;
    return fits ? value : ZeroExtend(type, value);
  }
  switch (inst.op) {
    case Op::kNot:
      return Apply(Op::kXor, type, a, ConstantOf(type, kOnes));
    case Op::kNeg:
      return Apply(Op::kSub, type, ConstantOf(type, 0), a);
    case Op::kAbs: {
      if (!IsSigned(type)) return a;
      const Value sign = SignOf(a);
      return Apply(Op::kSub, type, Apply(Op::kXor, type, a, sign), sign);
    }
    case Op::kMul:
      return MultiplyWide(type, a, b);
    case Op::kMin:
    case Op::kMax: {
      const Value is_greater = Greater(type, a, b);
      return inst.op == Op::kMin ? Select(type, is_greater, b, a)
                                 : Select(type, is_greater, a, b);
    }
    case Op::kShr: {
      // Of a negative number: the complement, shifted, and back.
      const Value sign = SignOf(a);
      const Value positive = Apply(Op::kXor, type, a, sign);
      return Apply(Op::kXor, type, Apply(Op::kShr, DType::kU64, positive, b),
                   sign);
    }
    case Op::kRotl:
      return RotateBits(inst);
    default:
      return std::nullopt;
  }
}

// All bits of the i64 where it is negative.
Value Legalizer::SignOf(Value a) {
  const Value zero = InRegister(ConstantOf(DType::kI64, 0), DType::kI64);
  return Make(Opcode::kGreater, DType::kI64, zero, a);
}

// The products of a low half and the other's high one, above that of the low
// ones.
Value Legalizer::MultiplyWide(DType type, Value a, Value b) {
  const Value half = ConstantOf(DType::kU64, 32);
  auto cross_product = [&](Value of, Value low) {
    const Value high = Apply(Op::kShr, DType::kU64, of, half);
    return Make(Opcode::kMulWiden, DType::kU64, high, low);
  };
  const Value first = cross_product(a, b);
  const Value mixed = Apply(Op::kAdd, type, first, cross_product(b, a));
  const Value above = Apply(Op::kShl, DType::kU64, mixed, half);
  return Apply(Op::kAdd, type, Make(Opcode::kMulWiden, DType::kU64, a, b),
               above);
}

// Shifts by n and by width - n, which is all of the bits where n is 0.
Value Legalizer::RotateBits(const Inst& inst) {
  const bool wide = IsWide(inst.dtype);
  const DType bits = wide ? DType::kU64 : DType::kU32;
  const uint64_t width = wide ? 64 : 32;
  const auto& [a, b, c] = inst.args;
  Value left, right;
  if (b.kind == Value::kConst) {
    const uint64_t amount = nest_.constants[b.index].bits % width;
    left = ConstantOf(bits, amount);
    right = ConstantOf(bits, width - amount);
  } else {
    left = Apply(Op::kAnd, bits, b, ConstantOf(bits, width - 1));
    right =
        Apply(Op::kSub, bits, InRegister(ConstantOf(bits, width), bits), left);
  }
  const Value shifted = Apply(Op::kShl, bits, a, left);
  return Apply(Op::kOr, bits, shifted, Apply(Op::kShr, bits, a, right));
}

std::optional<Value> Legalizer::ExpandMask(const Inst& inst) {
  const auto& [a, b, c] = inst.args;
  auto invert = [&](Value mask) {
    return HasMasks(isa_) ? Apply(Op::kNot, DType::kBool, mask)
                          : Apply(Op::kXor, DType::kI32, mask,
                                  ConstantOf(DType::kI32, kOnes));
  };
  switch (inst.op) {
    case Op::kNot:
      return invert(a);
    case Op::kNotEqual:
      return Apply(Op::kXor, DType::kBool, a, b);
    case Op::kEqual:
      return invert(Apply(Op::kXor, DType::kBool, a, b));
    case Op::kLess:
      return Make(Opcode::kAndNot, DType::kBool, a, b);
    case Op::kLessEqual:
      return Apply(Op::kOr, DType::kBool, invert(a), b);
    default:
      return std::nullopt;
  }
}

// ---- Comparisons and what depends on them -----------------------------------

DType Legalizer::MaskOf(DType dtype) const {
  return IsWide(dtype) && !HasMasks(isa_) ? DType::kI64 : DType::kBool;
}

Value Legalizer::Greater(DType type, Value a, Value b) {
  a = InRegister(a, type);
  b = InRegister(b, type);
  if (!IsSigned(type)) {
    // There are comparisons of signed numbers only.
    const Value sign = ConstantOf(type, uint64_t{1} << (8 * SizeOf(type) - 1));
    a = Apply(Op::kXor, type, a, sign);
    b = Apply(Op::kXor, type, b, sign);
  }
  return Define(New(Opcode::kGreater, MaskOf(type), type, a, b));
}

Value Legalizer::ExpandCompare(const Inst& inst) {
  const auto& [a, b, c] = inst.args;
  if (IsInteger(inst.operand) && SizeOf(inst.operand) < 4) {
    return Compare(inst.op, DType::kI32, a, b);
  }
  // With masks of their own width.
  Inst wide = inst;
  wide.dtype = MaskOf(inst.operand);
  Value mask;
  if (IsFloat(inst.operand) || EncodingOf(wide, isa_).id != 0) {
    mask = Define(wide);
  } else if (inst.op == Op::kLess) {
    mask = Greater(inst.operand, b, a);
  } else {
    wide.op = Op::kEqual;
    const Value inverse =
        inst.op == Op::kLessEqual ? Greater(inst.operand, a, b) : Define(wide);
    const DType bits = IsWide(inst.operand) ? DType::kI64 : DType::kI32;
    mask = Apply(Op::kXor, bits, inverse, ConstantOf(bits, kOnes));
  }
  return wide.dtype == DType::kBool ? mask : LowHalves(DType::kBool, mask);
}

Value Legalizer::LowHalves(DType type, Value lanes) {
  if (lanes_ == 1) return lanes;
  Inst high = New(Opcode::kExtract, DType::kI64, DType::kI64, lanes);
  high.lane = lanes_ / 2;
  Inst low = New(Opcode::kShuffle, type, type, lanes, Define(high));
  low.shuffle = ShuffleKind::kSelect32;
  low.selector = 0x88;  // the even ones
  return Define(low);
}

Value Legalizer::ExpandSelect(const Inst& inst) {
  const auto& [mask, a, b] = inst.args;
  if (inst.dtype == DType::kBool) {
    const Value chosen = Apply(Op::kAnd, DType::kBool, mask, a);
    return Apply(Op::kOr, DType::kBool, chosen,
                 Make(Opcode::kAndNot, DType::kBool, mask, b));
  }
  Inst wide = inst;
  wide.args[0] = Convert(DType::kI64, DType::kI32, mask);
  return Define(wide);
}

// The instructions of min and max take their second operand if one is NaN: with
// the operands swapped, only a NaN in b is left to be put in, and finding it is
// off the critical path of a reduction.
Value Legalizer::ExpandExtreme(const Inst& inst) {
  const auto& [a, b, c] = inst.args;
  const DType type = inst.dtype;
  Inst extreme = New(Opcode::kApply, type, type, b, a);
  extreme.op = inst.op == Op::kMinimum ? Op::kMin : Op::kMax;
  if (Info(isa_).fixup) {
    // vfixupimm's response table, 4 bits a class of number: for quiet and
    // signalling NaNs 2, the quiet NaN; for the others 0, the destination.
    const Value rule =
        ConstantOf(IsWide(type) ? DType::kI64 : DType::kI32, 0x22);
    const bool reads_dst = b == RegValue(inst.dst);
    Value value;
    if (nest_.registers[inst.dst.index].is_mutable && !reads_dst) {
      extreme.dst = inst.dst;
      insts_.push_back(extreme);
      value = RegValue(inst.dst);
    } else {
      value = Define(extreme);
    }
    value = Define(New(Opcode::kFixNan, type, type, value, b, rule));
    return reads_dst ? Make(Opcode::kCopy, type, value) : value;
  }
  const Value is_nan =
      Define(New(Opcode::kUnordered, MaskOf(type), type, b, b));
  return Apply(Op::kOr, type, Define(extreme), is_nan);
}

// ---- Building ---------------------------------------------------------------

DType Legalizer::Promoted(DType dtype) {
  return SizeOf(dtype) < 4 ? DType::kU32 : dtype;
}

Value Legalizer::ZeroExtend(DType dtype, Value lanes) {
  const size_t size = SizeOf(dtype);
  if (size >= 4) return lanes;
  return Apply(Op::kAnd, DType::kU32, lanes,
               ConstantOf(DType::kU32, (uint64_t{1} << (8 * size)) - 1));
}

Inst Legalizer::New(Opcode opcode, DType dtype, DType operand, Value a, Value b,
                    Value c) const {
  return {.opcode = opcode,
          .dtype = dtype,
          .operand = operand,
          .lanes = lanes_,
          .active_lanes = lanes_,
          .args = {a, b, c}};
}

Value Legalizer::Define(Inst inst) {
  if (!IsLegal(inst)) {
    if (std::optional<Value> value = Expand(inst)) return *value;
  }
  inst.dst = VReg(nest_.registers.size());
  nest_.registers.push_back({inst.dtype, inst.lanes, /*is_mutable=*/false});
  insts_.push_back(inst);
  return RegValue(inst.dst);
}

Value Legalizer::Apply(Op op, DType type, Value a, Value b) {
  Inst inst = New(Opcode::kApply, type, type, InRegister(a, type), b);
  inst.op = op;
  return Define(inst);
}

Value Legalizer::Select(DType type, Value mask, Value a, Value b) {
  return Define(New(Opcode::kSelect, type, type, mask, a, b));
}

Value Legalizer::Compare(Op op, DType type, Value a, Value b) {
  Inst inst = New(Opcode::kApply, DType::kBool, type, a, b);
  inst.op = op;
  return Define(inst);
}

Value Legalizer::Convert(DType to, DType from, Value a) {
  Inst inst = New(Opcode::kApply, to, from, a);
  inst.op = Op::kConvert;
  return Define(inst);
}

Value Legalizer::Make(Opcode opcode, DType type, Value a, Value b) {
  return Define(New(opcode, type, type, a, b));
}

Value Legalizer::ConstantOf(DType dtype, uint64_t bits) {
  if (!IsWide(dtype)) bits &= 0xffffffff;
  const Constant constant = FromBits(dtype, bits);
  auto [it, inserted] = constants_.try_emplace(
      constant, static_cast<int32_t>(nest_.constants.size()));
  if (inserted) nest_.constants.push_back(constant);
  return {Value::kConst, it->second};
}

Value Legalizer::Number(DType dtype, double value) {
  return ConstantOf(dtype, MakeConstant(dtype, value).bits);
}

Value Legalizer::InRegister(Value value, DType dtype) {
  return value.kind == Value::kConst ? Make(Opcode::kCopy, dtype, value)
                                     : value;
}

void Legalize(Nest& nest, Isa isa) {
  Legalizer legalizer(nest, isa);
  if (!absl::c_all_of(nest.insts, [&](const Inst& inst) {
        return legalizer.IsLegal(inst) && inst.op != Op::kSqrt;
      })) {
    legalizer.Run();
  }
}

}  // namespace ocannl::jit
