// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/nest_builder.h"

#include <algorithm>
#include <cstdlib>

#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::jit {

int32_t NestBuilder::NewRegister(DType dtype, int lanes, bool is_variable) {
  nest_.registers.push_back({.dtype = dtype,
                             .lanes = static_cast<uint8_t>(lanes),
                             .is_variable = is_variable});
  return static_cast<int32_t>(nest_.registers.size()) - 1;
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
  // Four bits for each kind of number: for NaNs, quiet or not, 2, the quiet
  // NaN; for the others 0, what the destination has.
  return ConstantValue(
      FromBits(SizeOf(dtype) == 8 ? DType::kI64 : DType::kI32, 0x22));
}

bool NestBuilder::IsVariable(Value value) const {
  return value.kind == Value::kReg && nest_.registers[value.index].is_variable;
}

int32_t NestBuilder::PointerOf(int32_t base, const Affine& place) {
  auto [it, inserted] = pointers_.try_emplace(
      {base, place}, static_cast<int32_t>(nest_.pointers.size()));
  if (inserted) {
    nest_.pointers.push_back({.base = base, .value = place, .weight = 0});
  }
  nest_.pointers[it->second].weight += weight_;
  for (OpenLoop& open : open_) {
    if (place.FactorOf(Iterator(open.iterator)) != 0) {
      open.pointers.insert(it->second);
    }
  }
  return it->second;
}

Inst NestBuilder::AtRows(Code code, const LoopProgram& program,
                         const Unroller& unroller, const Lookup& lookup,
                         int arg) {
  auto at = [&](Code of, const Access& access, const Lanes& lanes) {
    const Buffer& buffer = program.buffers[access.buffer];
    Inst inst = NewInst(of, buffer.dtype, lanes);
    inst.memory = MemoryAt(
        access.buffer, unroller.Resolve(ByteOffset(program, access)), lanes);
    return inst;
  };
  const Lanes& lanes = unroller.lanes();
  const Buffer& buffer = program.buffers[lookup.cell.buffer];
  const bool is_one =
      ByteOffset(program, lookup.index).FactorOf(Iterator(lanes.iterator)) == 0;
  const Inst load = at(Code::kLoad, lookup.index, is_one ? Lanes() : lanes);
  Inst inst = at(code, lookup.cell, lanes);
  inst.operand = load.dtype;
  inst.args[arg] = Define(load);
  inst.offset = static_cast<int64_t>(nest_.lookups.size());
  nest_.lookups.push_back(
      {.size = buffer.dims[lookup.axis],
       .stride = static_cast<int64_t>(SizeOf(buffer.dtype)) *
                 LookupStride(program, lookup),
       .is_one = is_one});
  return inst;
}

Memory NestBuilder::MemoryAt(int32_t base, Affine place, const Lanes& lanes) {
  Symbol lane = Iterator(lanes.iterator);
  int64_t stride = place.FactorOf(lane);
  place += -stride * Affine(lane);
  int64_t disp = place.offset() % kMaxDisp;
  place += -disp;
  CHECK(std::abs(stride) < kMaxDisp);
  return {.pointer = PointerOf(base, place),
          .disp = static_cast<int32_t>(disp),
          .stride = static_cast<int32_t>(stride)};
}

Inst NestBuilder::NewInst(Code code, DType dtype, const Lanes& lanes) {
  Inst inst{.code = code, .dtype = dtype, .operand = dtype};
  inst.lanes = static_cast<uint8_t>(lanes.count);
  inst.valid = static_cast<uint8_t>(lanes.valid);
  return inst;
}

int NestBuilder::Append(const Inst& inst) {
  nest_.insts.push_back(inst);
  return static_cast<int>(nest_.insts.size()) - 1;
}

Value NestBuilder::Define(Inst inst) {
  inst.dst = NewRegister(inst.dtype, inst.lanes, /*is_variable=*/false);
  Append(inst);
  return {Value::kReg, inst.dst};
}

void NestBuilder::Note(const Stmt* stmt,
                       absl::FunctionRef<std::string()> line) {
  auto [it, inserted] =
      notes_.try_emplace(stmt, static_cast<int64_t>(nest_.notes.size()));
  if (inserted) nest_.notes.push_back(line());
  nest_.insts.push_back({.code = Code::kNote, .offset = it->second});
}

void NestBuilder::BeginLoop(const For& loop) {
  weight_ *= static_cast<double>(loop.extent);
  auto number = static_cast<int64_t>(nest_.loops.size());
  nest_.loops.push_back({.iterator = loop.iterator,
                         .extent = loop.extent,
                         .is_parallel = false,
                         .weight = weight_,
                         .steps = {}});
  open_.push_back({.number = number, .iterator = loop.iterator});
  nest_.insts.push_back({.code = Code::kLoop, .offset = number});
}

void NestBuilder::EndLoop(const For& loop) {
  weight_ /= static_cast<double>(loop.extent);
  const OpenLoop& open = open_.back();
  std::vector<int32_t> pointers(open.pointers.begin(), open.pointers.end());
  std::sort(pointers.begin(), pointers.end());
  for (int32_t pointer : pointers) {
    int64_t stride =
        nest_.pointers[pointer].value.FactorOf(Iterator(loop.iterator));
    nest_.loops[open.number].steps.push_back(
        {.pointer = pointer, .stride = stride});
  }
  nest_.insts.push_back({.code = Code::kEndLoop, .offset = open.number});
  open_.pop_back();
}

}  // namespace ocannl::jit
