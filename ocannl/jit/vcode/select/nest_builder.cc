// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/select/nest_builder.h"

#include <algorithm>
#include <cstdlib>

#include "absl/container/inlined_vector.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/eval.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/jit/vcode/operands.h"

namespace ocannl::jit {
namespace {

// Instructions after which a loaded value is loaded again, rather than spilled:
// `bazel run //experiments:bench -- --filter=gemm/17x17x17`.
constexpr size_t kMaxReuseDistance = 128;

// Tails of vectorised loops: whether the lanes behind the last iteration may be
// read or written, so that the access needs no mask.

// Whether the inactive lanes are in the padding behind scratch memory. A masked
// store is not forwarded to loads, which then have its latency to L1. `offset`
// is in bytes.
bool EndsInPadding(const Buffer& buffer, const Affine& offset,
                   const Lanes& lanes) {
  const auto size = static_cast<int64_t>(SizeOf(buffer.dtype));
  if (!IsScratch(buffer.role) || !lanes.iterator.valid() || size < 4)
    return false;
  const int64_t end = NumElements(buffer.dims) * size;
  const int64_t padding = -end & (DeviceMemory::kAlignment - 1);
  return offset == size * Affine(Iterator(lanes.iterator)) +
                       Affine(end - lanes.active * size) &&
         (lanes.count - lanes.active) * size <= padding;
}

// Whether a load of `access` may overread: the inactive lanes too are in the
// buffer in every iteration. A masked load cannot be folded into its user.
bool CanOverread(const LoopProgram& program, const Unroller& unroller,
                 const Access& access) {
  const Lanes& lanes = unroller.lanes();
  const Buffer& buffer = program.buffers[access.buffer];
  const auto size = static_cast<int64_t>(SizeOf(buffer.dtype));
  const Affine offset = unroller.ByteOffsetOf(access);
  int64_t last = offset.offset();
  for (const Affine::Term& term : offset.terms()) {
    if (term.symbol == Iterator(lanes.iterator)) {
      if (term.factor != size) return false;
      continue;
    }
    if (term.symbol.kind == Symbol::kStatic) return false;
    const int64_t extent = unroller.extents().at(term.symbol.iterator());
    last += std::max<int64_t>(term.factor, 0) * (extent - 1);
  }
  return size >= 4 &&
         last + lanes.count * size <= NumElements(buffer.dims) * size;
}

}  // namespace

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

void NestBuilder::ComputeSign(Inst& inst) {
  const bool wide = SizeOf(inst.dtype) == 8;
  const bool flips = inst.op == Op::kNeg;
  const uint64_t sign = uint64_t{1} << (wide ? 63 : 31);
  inst.op = flips ? Op::kXor : Op::kAnd;
  // As integers: NaNs have one bit pattern.
  inst.args[1] = ConstantValue(
      FromBits(wide ? DType::kI64 : DType::kI32, flips ? sign : sign - 1));
}

bool NestBuilder::IsMutable(Value value) const {
  return value.kind == Value::kReg && nest_.registers[value.index].is_mutable;
}

int64_t NestBuilder::ByteSize(BufferId id) const {
  const Buffer& buffer = program_.buffers[id];
  return NumElements(buffer.dims) * static_cast<int64_t>(SizeOf(buffer.dtype));
}

int32_t NestBuilder::PointerOf(BufferId base, const Affine& offset) {
  auto [it, inserted] = pointers_.try_emplace(
      {base, offset}, static_cast<int32_t>(nest_.pointers.size()));
  if (inserted) {
    const int64_t size = base == Pointer::kNumber ? 0 : ByteSize(base);
    nest_.pointers.push_back(
        {.base = base, .value = offset, .size = size, .frequency = 0});
  }
  nest_.pointers[it->second].frequency += frequency_;
  pointer_used_at_.resize(nest_.pointers.size());
  pointer_used_at_[it->second] = nest_.insts.size();
  return it->second;
}

Memory NestBuilder::MemoryAt(BufferId base, Affine offset) {
  Symbol lane = Iterator(unroller_.lanes().iterator);
  int64_t stride = offset.FactorOf(lane);
  offset.AddScaled(-stride, lane);
  int64_t disp = offset.offset() % kMaxDisp;
  offset += -disp;
  CHECK(std::abs(stride) < kMaxDisp);
  return {.pointer = PointerOf(base, offset),
          .disp = static_cast<int32_t>(disp),
          .stride = static_cast<int32_t>(stride)};
}

MemoryRef NestBuilder::MemoryRefOf(const Access& access) {
  const Lanes& lanes = unroller_.lanes();
  Affine offset = unroller_.ByteOffsetOf(access);
  const Buffer& buffer = program_.buffers[access.buffer];
  const Memory memory = MemoryAt(access.buffer, offset);
  // One cell for all lanes is the same in a tail.
  const bool has_all =
      memory.stride == 0 || EndsInPadding(buffer, offset, lanes);
  const int active = has_all ? lanes.count : lanes.active;
  return {.buffer = access.buffer,
          .memory = memory,
          .lanes = static_cast<uint8_t>(lanes.count),
          .active_lanes = static_cast<uint8_t>(active),
          .size = static_cast<uint8_t>(SizeOf(buffer.dtype))};
}

Inst NestBuilder::NewInst(Opcode opcode, DType dtype, Value arg) const {
  const Lanes& lanes = unroller_.lanes();
  Inst inst{.opcode = opcode, .dtype = dtype, .operand = dtype};
  inst.lanes = static_cast<uint8_t>(lanes.count);
  inst.active_lanes = static_cast<uint8_t>(lanes.active);
  inst.args[0] = arg;
  return inst;
}

Value NestBuilder::Define(Inst inst) {
  inst.dst = NewRegister(inst.dtype, inst.lanes, /*is_mutable=*/false);
  Append(inst);
  return RegValue(inst.dst);
}

Value NestBuilder::Compute(Inst inst, VReg into) {
  if (into.is_valid()) {
    inst.dst = into;
    Append(inst);
    return RegValue(into);
  }
  bool pure = std::none_of(inst.args.begin(), inst.args.end(),
                           [&](Value arg) { return IsMutable(arg); });
  if (!pure) return Define(inst);
  VReg& known = value_table_.RegisterOf(inst);
  if (!known.is_valid()) known = Define(inst).reg();
  return RegValue(known);
}

void NestBuilder::MaterialiseConstants(Inst& inst) {
  OrderOperands(inst);
  for (int k = 0; k < 3; ++k) {
    const Value arg = inst.args[k];
    if (arg.kind != Value::kConst || CanBe(Value::kConst, inst, k)) continue;
    const bool is_zeroing = RoleOf(inst, k) == OpcodeInfo::Role::kZero &&
                            inst.dtype != DType::kBool;
    if (is_zeroing && ConstantOf(arg).bits == 0) continue;
    const bool is_condition = inst.opcode == Opcode::kSelect && k == 0;
    inst.args[k] =
        InRegister(inst.args[k], is_condition ? DType::kBool : inst.operand);
  }
}

Value NestBuilder::Apply(Inst inst, VReg into) {
  const int arity = Info(inst.op).arity;
  absl::InlinedVector<Constant, 3> constants;
  for (int k = 0; k < arity; ++k) {
    if (inst.args[k].kind != Value::kConst) break;
    constants.push_back(ConstantOf(inst.args[k]));
  }
  if (static_cast<int>(constants.size()) == arity) {
    return ConstantValue(EvalPrimitive(inst.op, inst.dtype, constants));
  }
  const bool is_sign_op = inst.op == Op::kNeg || inst.op == Op::kAbs;
  if (is_sign_op && IsFloat(inst.dtype)) ComputeSign(inst);
  if (inst.op == Op::kFma) inst.opcode = Opcode::kFma;
  if (inst.op == Op::kSelect) inst.opcode = Opcode::kSelect;
  MaterialiseConstants(inst);
  return Compute(inst, into);
}

Value NestBuilder::InRegister(Value value, DType dtype) {
  if (value.kind != Value::kConst) return value;
  return Compute(NewInst(Opcode::kCopy, dtype, value));
}

Value NestBuilder::Splat(Value value, DType dtype) {
  if (value.kind == Value::kConst || unroller_.lanes().count == 1) return value;
  return Compute(NewInst(Opcode::kSplat, dtype, value));
}

Value NestBuilder::Index(const Affine& index, DType dtype) {
  Affine value = unroller_.Resolve(index);
  if (value.is_constant()) {
    return ConstantValue(FromBits(dtype, value.offset()));
  }
  Inst inst = NewInst(Opcode::kIndex, dtype);
  inst.memory = MemoryAt(Pointer::kNumber, value);
  return Compute(inst);
}

bool NestBuilder::IsWorthKeeping(Value value) {
  const auto reg = static_cast<size_t>(value.index);
  if (value.kind != Value::kReg || reg >= used_at_.size()) return true;
  size_t& used_at = used_at_[reg];
  if (used_at == 0) return true;
  const bool keep = nest_.insts.size() - used_at <= kMaxReuseDistance;
  if (keep) used_at = nest_.insts.size();
  return keep;
}

Value NestBuilder::Load(const Access& access) {
  MemoryRef ref = MemoryRefOf(access);
  std::optional<Value> known = value_table_.Find(ref);
  if (known && IsWorthKeeping(*known)) return *known;
  Inst inst = NewInst(Opcode::kLoad, program_.buffers[access.buffer].dtype);
  inst.memory = ref.memory;
  inst.active_lanes = ref.active_lanes;
  const bool is_tail = ref.active_lanes < ref.lanes;
  if (is_tail && CanOverread(program_, unroller_, access))
    inst.active_lanes = ref.lanes;
  Value value = Define(inst);
  used_at_.resize(value.index + 1);
  used_at_[value.index] = nest_.insts.size();
  value_table_.AddLoad(ref, value);
  return value;
}

void NestBuilder::Store(const Access& access, Value value) {
  MemoryRef ref = MemoryRefOf(access);
  DType dtype = program_.buffers[access.buffer].dtype;
  Inst inst = NewInst(Opcode::kStore, dtype, InRegister(value, dtype));
  inst.memory = ref.memory;
  inst.active_lanes = ref.active_lanes;
  Append(inst);
  const int number = static_cast<int>(nest_.insts.size()) - 1;
  const int dead = value_table_.AddStore(ref, value, number);
  if (dead >= 0) nest_.insts[dead] = Nop();
}

Inst NestBuilder::NewRowAccess(Opcode opcode, const Lookup& lookup, int arg) {
  auto at = [&](Opcode of, const Access& access) {
    value_table_.MarkRead(access.buffer);  // any cell of it
    Inst inst = NewInst(of, program_.buffers[access.buffer].dtype);
    inst.memory = MemoryAt(access.buffer, unroller_.ByteOffsetOf(access));
    return inst;
  };
  Inst load = at(Opcode::kLoad, *lookup.index);
  const bool is_uniform = load.memory.stride == 0;
  if (is_uniform) load.lanes = load.active_lanes = 1;
  Inst inst = at(opcode, lookup.cell);
  inst.operand = load.dtype;
  inst.args[arg] = Define(load);
  inst.lookup = static_cast<int32_t>(nest_.lookups.size());
  const Buffer& buffer = program_.buffers[lookup.cell.buffer];
  nest_.lookups.push_back(
      {.size = buffer.dims[lookup.axis],
       .stride = static_cast<int64_t>(SizeOf(buffer.dtype)) *
                 LookupStride(program_, lookup),
       .is_uniform = is_uniform});
  return inst;
}

Value NestBuilder::LoadRow(const Lookup& lookup) {
  return Define(NewRowAccess(Opcode::kLookup, lookup, 0));
}

void NestBuilder::StoreRow(const Lookup& lookup, Value value) {
  const BufferId buffer = lookup.cell.buffer;
  value = InRegister(value, program_.buffers[buffer].dtype);
  Inst inst = NewRowAccess(Opcode::kScatter, lookup, 1);
  inst.args[0] = value;
  Append(inst);
  value_table_.KillBuffer(buffer);
}

void NestBuilder::Zero(BufferId id) {
  const Buffer& buffer = program_.buffers[id];
  Inst inst = NewInst(Opcode::kMemset, buffer.dtype);
  inst.memory = MemoryAt(id, 0);
  inst.bytes = ByteSize(id);
  Append(inst);
  value_table_.KillBuffer(id);
}

void NestBuilder::SetSourceLoc(const Stmt* stmt,
                               absl::FunctionRef<std::string()> line) {
  auto [it, inserted] = source_locs_.try_emplace(
      stmt, static_cast<int32_t>(nest_.source_lines.size()));
  if (inserted) nest_.source_lines.push_back({stmt, line()});
  nest_.insts.push_back({.opcode = Opcode::kSourceLoc, .line = it->second});
}

void NestBuilder::BeginWhen(Value mask) {
  Append(NewInst(Opcode::kWhen, DType::kBool, mask));
  value_table_.BeginArm();
}

void NestBuilder::EndWhen() {
  Append({.opcode = Opcode::kEndWhen});
  value_table_.EndArm();
}

void NestBuilder::BeginLoop(const For& loop) {
  value_table_.Clear();
  frequency_ *= static_cast<double>(loop.extent);
  auto number = static_cast<int32_t>(nest_.loops.size());
  nest_.loops.push_back({.iterator = loop.iterator,
                         .extent = loop.extent,
                         .is_parallel = false,
                         .frequency = frequency_,
                         .increments = {}});
  nest_.insts.push_back({.opcode = Opcode::kLoop, .loop = number});
  open_.push_back({.number = number, .begin = nest_.insts.size()});
}

void NestBuilder::EndLoop(const For& loop) {
  value_table_.Clear();
  frequency_ /= static_cast<double>(loop.extent);
  const OpenLoop& open = open_.back();
  for (size_t k = 0; k < nest_.pointers.size(); ++k) {
    const int64_t bytes =
        nest_.pointers[k].value.FactorOf(Iterator(loop.iterator));
    if (bytes == 0 || pointer_used_at_[k] < open.begin) continue;
    nest_.loops[open.number].increments.push_back(
        {.pointer = static_cast<int32_t>(k), .bytes = bytes});
  }
  nest_.insts.push_back({.opcode = Opcode::kEndLoop, .loop = open.number});
  open_.pop_back();
}

}  // namespace ocannl::jit
