// SPDX-License-Identifier: Apache-2.0
//
// Gathers and scatters of rows of a table, by numbers in a register that may be
// out of bounds.
#include <algorithm>
#include <limits>

#include "ocannl/jit/emit/emitter.h"

namespace ocannl::jit {
namespace {

namespace x86 = asmjit::x86;
namespace Ids = x86::Inst;

constexpr int64_t kMaxOffset = std::numeric_limits<int32_t>::max();

// Where the lanes of the result are, or of what is stored, behind the rows.
constexpr int32_t kResult = 64;

}  // namespace

void Emitter::EmitLookup(const Inst& inst) {
  const RowLookup& rows = code_->lookups[inst.lookup];
  if (!rows.is_uniform) {
    const int64_t span =
        rows.size * rows.stride +
        int64_t{inst.lanes} * std::abs(int64_t{inst.memory.stride});
    const bool gathers = SizeOf(inst.dtype) == 4 && SizeOf(inst.operand) < 8;
    return gathers && rows.size <= kMaxOffset && span <= kMaxOffset
               ? GatherFromRows(inst)
               : GatherByScalars(inst);
  }
  LoadIndex(inst, 0);
  IsMask(inst.dtype, isa_) ? LoadConstant(OutMask(inst), 0)
                           : LoadConstant(Out(inst), inst.dtype, 0);
  Finish(inst);
  asmjit::Label none = assembler_.newLabel();
  ComputeRowAddress(inst, none);
  has_row_address_ = true;
  EmitLoad(inst);
  has_row_address_ = false;
  assembler_.bind(none);
}

void Emitter::EmitScatter(const Inst& inst) {
  if (!code_->lookups[inst.lookup].is_uniform) return ScatterByScalars(inst);
  LoadIndex(inst, 1);
  asmjit::Label none = assembler_.newLabel();
  ComputeRowAddress(inst, none);
  has_row_address_ = true;
  EmitStore(inst);
  has_row_address_ = false;
  assembler_.bind(none);
}

// rax = the row for all lanes, which operand k has.
void Emitter::LoadIndex(const Inst& inst, int k) {
  x86::Assembler& a = assembler_;
  const x86::Xmm row = In(inst, k, 16).xmm();
  if (IsWide(inst.operand)) {
    a.vmovq(x86::rax, row);
  } else {
    a.vmovd(x86::eax, row);
    if (IsSigned(inst.operand)) a.movsxd(x86::rax, x86::eax);
  }
}

// rax = the row of the lane, of those in the first slot.
void Emitter::LoadIndexOfLane(const Inst& inst, int lane) {
  x86::Assembler& a = assembler_;
  if (IsWide(inst.operand)) {
    a.mov(x86::rax, OperandSlot(8 * lane));
  } else if (IsSigned(inst.operand)) {
    a.movsxd(x86::rax, OperandSlot(4 * lane));
  } else {
    a.mov(x86::eax, OperandSlot(4 * lane));
  }
}

// rdx = the address of row rax; jumps to `none` where that is out of bounds.
void Emitter::ComputeRowAddress(const Inst& inst, const asmjit::Label& none) {
  x86::Assembler& a = assembler_;
  const RowLookup& rows = code_->lookups[inst.lookup];
  // Unsigned: a negative number is greater than any size.
  a.mov(x86::rcx, rows.size);
  a.cmp(x86::rax, x86::rcx);
  a.jae(none);
  a.mov(x86::rcx, rows.stride);
  a.imul(x86::rax, x86::rcx);
  a.lea(x86::rdx, At({.pointer = inst.memory.pointer}));
  a.add(x86::rdx, x86::rax);
}

// By scalar loads, lane by lane.
void Emitter::GatherByScalars(const Inst& inst) {
  x86::Assembler& a = assembler_;
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  const auto size = static_cast<int>(SizeOf(inst.dtype));
  a.vmovups(OperandSlot(0), In(inst, 0, BytesOf(inst.operand, inst.lanes)));
  const Vec lanes = HasEvex() ? Temp(0, bytes) : Out(inst);
  a.vxorps(lanes, lanes, lanes);
  a.vmovups(OperandSlot(kResult), lanes);
  for (int k = 0; k < inst.active_lanes; ++k) {
    asmjit::Label none = a.newLabel();
    LoadIndexOfLane(inst, k);
    ComputeRowAddress(inst, none);
    Mem from = x86::ptr(
        x86::rdx, inst.memory.disp + int64_t{k} * inst.memory.stride, size);
    const Gp lane = size == 8 ? Gp(x86::rax) : Gp(x86::eax);
    size < 4 ? a.movzx(lane, from) : a.mov(lane, from);
    a.mov(OperandSlot(kResult + k * std::max(size, 4)), lane);
    a.bind(none);
  }
  if (inst.dtype == DType::kBool) {
    a.vmovups(lanes, OperandSlot(kResult));
    TestLanes(inst, lanes);
  } else {
    a.vmovups(Out(inst), OperandSlot(kResult));
  }
  Finish(inst);
}

// By scalar stores in the order of lanes: of equal rows, the last one counts.
void Emitter::ScatterByScalars(const Inst& inst) {
  x86::Assembler& a = assembler_;
  const auto size = static_cast<int>(SizeOf(inst.dtype));
  a.vmovups(OperandSlot(0), In(inst, 1, BytesOf(inst.operand, inst.lanes)));
  a.vmovups(OperandSlot(kResult),
            size == 1 ? NarrowLanes(inst).xmm()
                      : In(inst, 0, BytesOf(inst.dtype, inst.lanes)));
  const Gp value = size == 8   ? Gp(x86::rax)
                   : size == 4 ? Gp(x86::eax)
                   : size == 2 ? Gp(x86::ax)
                               : Gp(x86::al);
  for (int k = 0; k < inst.active_lanes; ++k) {
    asmjit::Label none = a.newLabel();
    LoadIndexOfLane(inst, k);
    ComputeRowAddress(inst, none);
    a.mov(value,
          OperandSlot(kResult + k * (size == 1 ? 1 : std::max(size, 4))));
    a.mov(x86::ptr(x86::rdx, inst.memory.disp + int64_t{k} * inst.memory.stride,
                   size),
          value);
    a.bind(none);
  }
}

// By a gather instruction, where offsets fit 32 bits.
void Emitter::GatherFromRows(const Inst& inst) {
  const RowLookup& rows = code_->lookups[inst.lookup];
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  const Vec row = In(inst, 0, bytes);
  const Vec offset = Temp(HasEvex() ? 0 : 1, bytes);
  Vec exists_of_lane;
  if (HasEvex()) {
    const KReg exists = TempMask(0);
    SetMask(exists, 0, inst.active_lanes);
    assembler_.k(exists).emit(Ids::kIdVpcmpud, exists, row,
                              PoolSplat(rows.size, 4, bytes),
                              asmjit::imm(x86::VPCmpImm::kLT));
  } else {
    const Vec size = Temp(0, bytes);
    Emit(Ids::kIdVmovups, size, PoolSplat(rows.size, 4, bytes));
    const Mem sign = PoolSplat(uint64_t{1} << 31, 4, bytes);
    Emit(Ids::kIdVpxor, size, size, sign);
    Emit(Ids::kIdVpxor, offset, row, sign);
    Emit(Ids::kIdVpcmpgtd, size, size, offset);
    exists_of_lane = size;
    Emit(Ids::kIdVpand, exists_of_lane, exists_of_lane, PoolMask(inst));
  }
  Emit(Ids::kIdVpmulld, offset, row, PoolSplat(rows.stride, 4, bytes));
  if (inst.memory.stride != 0) {
    Emit(Ids::kIdVpaddd, offset, offset,
         PoolRange(0, inst.memory.stride, inst.lanes, 4));
  }
  const Vec dst = Out(inst);
  assembler_.vxorps(dst, dst, dst);
  Mem from = At(inst.memory);
  from.setIndex(offset);
  if (HasEvex()) {
    assembler_.k(TempMask(0)).emit(Ids::kIdVgatherdps, dst, from);
  } else {
    Emit(Ids::kIdVgatherdps, dst, from, exists_of_lane);
  }
  Finish(inst);
}

}  // namespace ocannl::jit
