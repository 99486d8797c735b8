// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/encoding.h"

#include <algorithm>
#include <array>

#include "absl/types/span.h"
#include "asmjit/asmjit.h"

namespace ocannl::jit {
namespace {

namespace Ids = asmjit::x86::Inst;

struct Ids4 {
  uint32_t vex[2], evex[2];  // of 32 bits, and of 64; 0: none
  int immediate;

  Encoding Of(bool wide, Isa isa) const {
    return {HasMasks(isa) ? evex[wide] : vex[wide], immediate};
  }
};

// What an operation's operands are, as encodings.def says.
enum Operands {
  kFloat,
  kInteger,
  kSigned,
  kUnsigned,
  kShift,
  kSignedShift,
  kUnsignedShift,
  kMask
};

bool Fits(Operands operands, const Inst& inst) {
  if (inst.operand == DType::kBool) return operands == kMask;
  if (IsFloat(inst.operand)) return operands == kFloat;
  // Lanes of less than 32 bits have to be kept zero-extended.
  if (!IsInteger(inst.operand) || SizeOf(inst.operand) < 4) return false;
  const bool is_signed = IsSigned(inst.operand);
  if (operands == kInteger || operands == (is_signed ? kSigned : kUnsigned)) {
    return true;
  }
  return IsImmediate(inst, 1) &&
         (operands == kShift ||
          operands == (is_signed ? kSignedShift : kUnsignedShift));
}

struct OperationRow {
  Op op;
  Operands operands;
  OpcodeInfo::Role last;
  Ids4 ids;
};

constexpr OperationRow kOperations[] = {
#define ENCODING(op, operands, last, vex_32, vex_64, evex_32, evex_64, \
                 immediate)                                            \
  {Op::k##op,                                                          \
   k##operands,                                                        \
   OpcodeInfo::Role::k##last,                                          \
   {{Ids::kId##vex_32, Ids::kId##vex_64},                              \
    {Ids::kId##evex_32, Ids::kId##evex_64},                            \
    immediate}},
#define CONVERSION(...)
#include "ocannl/jit/vcode/encodings.def"
};

absl::Span<const OperationRow> RowsOf(Op op) {
  using Rows = absl::Span<const OperationRow>;
  static const auto* const all = [] {
    auto* rows = new std::array<Rows, kNumOps>;
    for (const OperationRow& row : kOperations) {
      Rows& of_op = (*rows)[static_cast<size_t>(row.op)];
      of_op = Rows(of_op.empty() ? &row : of_op.data(), of_op.size() + 1);
    }
    return rows;
  }();
  return (*all)[static_cast<size_t>(op)];
}

Encoding ConversionOf(const Inst& inst, Isa isa) {
#define ENCODING(...)
#define CONVERSION(to, from, vex_id, evex_id)                         \
  if (inst.dtype == DType::k##to && inst.operand == DType::k##from) { \
    return {HasMasks(isa) ? Ids::kId##evex_id : Ids::kId##vex_id};    \
  }
#include "ocannl/jit/vcode/encodings.def"
  return {};
}

struct EncodedRow {
  int dst_bits, bits;
  Ids4 ids;
};

// Null: not ENCODED.
const EncodedRow* RowOf(Opcode opcode) {
  switch (opcode) {
#define INSTRUCTION(...)
#define ENCODED(name, text, b, dst_bits, bits, vex_32, vex_64, evex_32, \
                evex_64, immediate)                                     \
  case Opcode::k##name: {                                               \
    static constexpr EncodedRow kRow = {                                \
        dst_bits,                                                       \
        bits,                                                           \
        {{Ids::kId##vex_32, Ids::kId##vex_64},                          \
         {Ids::kId##evex_32, Ids::kId##evex_64},                        \
         immediate}};                                                   \
    return &kRow;                                                       \
  }
#include "ocannl/jit/vcode/instructions.def"
    default:
      return nullptr;
  }
}

// Of registers with lanes of `bits`, or of the type's where that is 0.
int BytesWith(int bits, DType dtype, int lanes) {
  return bits == 0 ? BytesOf(dtype, lanes) : std::max(16, lanes * bits / 8);
}

}  // namespace

Encoding EncodingOf(const Inst& inst, Isa isa) {
  const bool wide = IsWide(inst.operand);
  if (inst.opcode != Opcode::kApply) {
    const EncodedRow* row = RowOf(inst.opcode);
    return row == nullptr ? Encoding() : row->ids.Of(wide, isa);
  }
  if (inst.op == Op::kConvert) return ConversionOf(inst, isa);
  for (const OperationRow& row : RowsOf(inst.op)) {
    const Encoding encoding = row.ids.Of(wide, isa);
    if (encoding.id != 0 && Fits(row.operands, inst)) return encoding;
  }
  return {};
}

OpcodeInfo::Role LastRole(const Inst& inst) {
  for (const OperationRow& row : RowsOf(inst.op)) {
    if (Fits(row.operands, inst)) return row.last;
  }
  return OpcodeInfo::Role::kReg;
}

int BytesOf(DType dtype, int lanes) {
  return std::max(16, lanes * (IsWide(dtype) ? 8 : 4));
}

int ResultBytes(const Inst& inst) {
  const EncodedRow* row = RowOf(inst.opcode);
  return BytesWith(row == nullptr ? 0 : row->dst_bits, inst.dtype, inst.lanes);
}

int OperandBytes(const Inst& inst) {
  const EncodedRow* row = RowOf(inst.opcode);
  return BytesWith(row == nullptr ? 0 : row->bits, inst.operand, inst.lanes);
}

}  // namespace ocannl::jit
