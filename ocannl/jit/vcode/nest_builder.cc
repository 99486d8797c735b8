// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/nest_builder.h"

#include <algorithm>
#include <cstdlib>

#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::jit {

VReg NestBuilder::NewRegister(DType dtype, int lanes, bool is_mutable) {
  nest_.registers.push_back({.dtype = dtype,
                             .lanes = static_cast<uint8_t>(lanes),
                             .is_mutable = is_mutable});
  return VReg(nest_.registers.size() - 1);
}

Value NestBuilder::ConstantValue(const Constant& constant) {
  auto [it, inserted] = constants_.try_emplace(
      constant, static_cast<int32_t>(nest_.constants.size()));
  if (inserted) nest_.constants.push_back(constant);
  return {Value::kConst, it->second};
}

Value NestBuilder::SignMask(Op op, DType dtype) {
  const bool wide = SizeOf(dtype) == 8;
  const uint64_t sign = uint64_t{1} << (wide ? 63 : 31);
  // As integers: NaNs have one bit pattern.
  return ConstantValue(FromBits(wide ? DType::kI64 : DType::kI32,
                                op == Op::kNeg ? sign : sign - 1));
}

Value NestBuilder::NanRule(DType dtype) {
  // vfixupimm's response table, 4 bits a class of number: for quiet and
  // signalling NaNs 2, the quiet NaN; for the others 0, the destination.
  return ConstantValue(
      FromBits(SizeOf(dtype) == 8 ? DType::kI64 : DType::kI32, 0x22));
}

bool NestBuilder::IsMutable(Value value) const {
  return value.kind == Value::kReg && nest_.registers[value.index].is_mutable;
}

int32_t NestBuilder::PointerOf(BufferId base, const Affine& offset) {
  auto [it, inserted] = pointers_.try_emplace(
      {base, offset}, static_cast<int32_t>(nest_.pointers.size()));
  if (inserted) {
    nest_.pointers.push_back({.base = base, .value = offset, .frequency = 0});
  }
  nest_.pointers[it->second].frequency += frequency_;
  for (OpenLoop& open : open_) {
    if (offset.FactorOf(Iterator(open.iterator)) != 0) {
      open.pointers.insert(it->second);
    }
  }
  return it->second;
}

Inst NestBuilder::NewRowAccess(Opcode opcode, const LoopProgram& program,
                               const Unroller& unroller, const Lookup& lookup,
                               int arg) {
  auto at = [&](Opcode of, const Access& access, const Lanes& lanes) {
    const Buffer& buffer = program.buffers[access.buffer];
    Inst inst = NewInst(of, buffer.dtype, lanes);
    inst.memory = MemoryAt(access.buffer, unroller.ByteOffsetOf(access), lanes);
    return inst;
  };
  const Lanes& lanes = unroller.lanes();
  const Buffer& buffer = program.buffers[lookup.cell.buffer];
  const bool is_uniform =
      ByteOffset(program, lookup.index).FactorOf(Iterator(lanes.iterator)) == 0;
  const Inst load =
      at(Opcode::kLoad, lookup.index, is_uniform ? Lanes() : lanes);
  Inst inst = at(opcode, lookup.cell, lanes);
  inst.operand = load.dtype;
  inst.args[arg] = Define(load);
  inst.offset = static_cast<int64_t>(nest_.lookups.size());
  nest_.lookups.push_back(
      {.size = buffer.dims[lookup.axis],
       .stride = static_cast<int64_t>(SizeOf(buffer.dtype)) *
                 LookupStride(program, lookup),
       .is_uniform = is_uniform});
  return inst;
}

Memory NestBuilder::MemoryAt(BufferId base, Affine offset, const Lanes& lanes) {
  Symbol lane = Iterator(lanes.iterator);
  int64_t stride = offset.FactorOf(lane);
  offset.AddScaled(-stride, lane);
  int64_t disp = offset.offset() % kMaxDisp;
  offset += -disp;
  CHECK(std::abs(stride) < kMaxDisp);
  return {.pointer = PointerOf(base, offset),
          .disp = static_cast<int32_t>(disp),
          .stride = static_cast<int32_t>(stride)};
}

Inst NestBuilder::NewInst(Opcode opcode, DType dtype, const Lanes& lanes) {
  Inst inst{.opcode = opcode, .dtype = dtype, .operand = dtype};
  inst.lanes = static_cast<uint8_t>(lanes.count);
  inst.active_lanes = static_cast<uint8_t>(lanes.active);
  return inst;
}

int NestBuilder::Append(const Inst& inst) {
  nest_.insts.push_back(inst);
  return static_cast<int>(nest_.insts.size()) - 1;
}

Value NestBuilder::Define(Inst inst) {
  inst.dst = NewRegister(inst.dtype, inst.lanes, /*is_mutable=*/false);
  Append(inst);
  return RegValue(inst.dst);
}

void NestBuilder::SetSourceLoc(const Stmt* stmt,
                               absl::FunctionRef<std::string()> line) {
  auto [it, inserted] = source_locs_.try_emplace(
      stmt, static_cast<int64_t>(nest_.source_lines.size()));
  if (inserted) nest_.source_lines.push_back({stmt, line()});
  nest_.insts.push_back({.opcode = Opcode::kSourceLoc, .offset = it->second});
}

void NestBuilder::BeginLoop(const For& loop) {
  frequency_ *= static_cast<double>(loop.extent);
  auto number = static_cast<int64_t>(nest_.loops.size());
  nest_.loops.push_back({.iterator = loop.iterator,
                         .extent = loop.extent,
                         .is_parallel = false,
                         .frequency = frequency_,
                         .increments = {}});
  open_.push_back({.number = number, .iterator = loop.iterator});
  nest_.insts.push_back({.opcode = Opcode::kLoop, .offset = number});
}

void NestBuilder::EndLoop(const For& loop) {
  frequency_ /= static_cast<double>(loop.extent);
  const OpenLoop& open = open_.back();
  std::vector<int32_t> pointers(open.pointers.begin(), open.pointers.end());
  std::sort(pointers.begin(), pointers.end());
  for (int32_t pointer : pointers) {
    int64_t bytes =
        nest_.pointers[pointer].value.FactorOf(Iterator(loop.iterator));
    nest_.loops[open.number].increments.push_back(
        {.pointer = pointer, .bytes = bytes});
  }
  nest_.insts.push_back({.opcode = Opcode::kEndLoop, .offset = open.number});
  open_.pop_back();
}

}  // namespace ocannl::jit
