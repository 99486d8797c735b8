// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/emit/emitter.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "ocannl/core/base/check.h"
#include "ocannl/jit/emit/helpers.h"

namespace ocannl::jit {
namespace {

namespace x86 = asmjit::x86;

// The frame up to the pointers.
constexpr int32_t kCallerSlot = 0;
constexpr int32_t kStaticsSlot = 8;
constexpr int32_t kLoSlot = 16;
constexpr int32_t kHiSlot = 24;
constexpr int32_t kFirstPointerSlot = 32;

// The callee-saved ones come last.
constexpr int32_t kNumCallerSaved = 5;
const std::array<x86::Gp, kNumPointerRegisters>& PointerRegisters() {
  static const std::array<x86::Gp, kNumPointerRegisters> registers = {
      x86::rsi, x86::r8,  x86::r9,  x86::r10, x86::r11, x86::rbx,
      x86::rbp, x86::r12, x86::r13, x86::r14, x86::r15};
  return registers;
}

// Whether the instruction surely needs no slot of the frame, if no value is
// spilled.
bool NeedsNoFrame(const Inst& inst, Isa isa) {
  if (inst.opcode == Opcode::kStore) {
    return inst.lanes == 1 || IsContiguous(inst);
  }
  if (inst.opcode != Opcode::kApply) {
    return Info(inst.opcode).field != OpcodeInfo::Field::kLookup;
  }
  return EncodingOf(inst, isa).id != 0;
}

// Whether the nest reads neither statics nor bounds.
bool IgnoresStaticsAndBounds(const Nest& nest) {
  return absl::c_none_of(nest.loops,
                         [](const Loop& loop) { return loop.is_parallel; }) &&
         absl::c_all_of(nest.pointers, [](const Pointer& pointer) {
           return absl::c_all_of(pointer.value.terms(),
                                 [](const Affine::Term& term) {
                                   return term.symbol.kind != Symbol::kStatic;
                                 });
         });
}

int32_t RoundUp(int32_t bytes, int32_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

bool FitsImmediate(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() &&
         value <= std::numeric_limits<int32_t>::max();
}

}  // namespace

Emitter::Emitter(x86::Assembler& assembler, const LoopProgram& program,
                 absl::Span<const Nest> nests, Isa isa, DebugRows* rows)
    : assembler_(assembler),
      program_(program),
      nests_(nests),
      isa_(isa),
      rows_(rows),
      pool_label_(assembler.newNamedLabel("pool")),
      stub_label_(assembler.newNamedLabel("slow_op")),
      run_helper_(assembler.newNamedLabel("run_slow_op")) {}

const Nest* Emitter::CodeOf(const Nest* nest) const {
  return nest->form >= 0 ? &nests_[nest->form] : nest;
}

void Emitter::LayOutFrame(const std::vector<const Nest*>& nests) {
  allocations_.clear();
  int32_t num_locations = 0;
  int32_t spill_bytes = 0;
  has_frame_ = false;
  for (const Nest* each : nests) {
    const Nest* nest = CodeOf(each);
    const auto [allocation, is_new] = allocations_.try_emplace(nest);
    if (!is_new) continue;
    allocation->second = Allocate(*nest, isa_);
    num_locations = std::max(
        num_locations,
        static_cast<int32_t>(nest->pointers.size() + nest->loops.size()));
    spill_bytes = std::max(spill_bytes, allocation->second.spill_bytes);
    has_frame_ = has_frame_ || !IgnoresStaticsAndBounds(*nest) ||
                 !absl::c_all_of(nest->insts, [&](const Inst& inst) {
                   return NeedsNoFrame(inst, isa_);
                 });
  }
  has_frame_ =
      has_frame_ || spill_bytes > 0 || num_locations > kNumPointerRegisters;
  saved_ = std::clamp(num_locations, kNumCallerSaved, kNumPointerRegisters);
  pointer_slots_ = kFirstPointerSlot;
  operands_ = RoundUp(pointer_slots_ + 8 * num_locations, 64);
  spills_ = operands_ + 4 * kHelperOperandBytes;
  frame_bytes_ = spills_ + RoundUp(spill_bytes, 64);
}

void Emitter::EmitFunction(const std::vector<const Nest*>& nests) {
  LayOutFrame(nests);
  x86::Assembler& a = assembler_;
  const auto& registers = PointerRegisters();
  const int32_t pushed = saved_ - kNumCallerSaved;
  nest_ = nests.front();
  code_ = CodeOf(nest_);
  if (rows_ != nullptr) RecordFirstLine();
  RecordFrame(DebugRows::Base::kRsp, 0);
  for (int32_t k = 0; k < pushed; ++k) {
    a.push(registers[kNumCallerSaved + k]);
    RecordFrame(DebugRows::Base::kRsp, k + 1);
  }
  if (has_frame_) {
    a.mov(x86::rax, x86::rsp);
    RecordFrame(DebugRows::Base::kRax, pushed);
    a.sub(x86::rsp, frame_bytes_);
    a.and_(x86::rsp, -64);
    a.mov(x86::qword_ptr(x86::rsp, kCallerSlot), x86::rax);
    RecordFrame(DebugRows::Base::kSlot, pushed);
    a.mov(x86::qword_ptr(x86::rsp, kStaticsSlot), x86::rsi);
    a.mov(x86::qword_ptr(x86::rsp, kLoSlot), x86::rdx);
    a.mov(x86::qword_ptr(x86::rsp, kHiSlot), x86::rcx);
  }
  for (const Nest* nest : nests) {
    nest_ = nest;
    code_ = CodeOf(nest);
    allocation_ = &allocations_.at(code_);
    EmitNest();
  }
  if (has_frame_) a.mov(x86::rsp, x86::qword_ptr(x86::rsp, kCallerSlot));
  RecordFrame(DebugRows::Base::kRsp, pushed);
  for (int32_t k = pushed; k-- > 0;) {
    a.pop(registers[kNumCallerSaved + k]);
    RecordFrame(DebugRows::Base::kRsp, k);
  }
  a.vzeroupper();
  a.ret();
}

void Emitter::EmitNest() {
  // A machine that has more would run wider ones and hide the mistake.
  for (const Register& reg : code_->registers) {
    CHECK(BytesOf(reg.dtype, reg.lanes) <= VectorBytes(isa_))
        << static_cast<int>(reg.lanes) << " lanes of "
        << ocannl::Name(reg.dtype);
  }
  AssignPointerRegisters();
  if (!nest_->aligned.valid()) return EmitBody(code_->insts);
  x86::Assembler& a = assembler_;
  asmjit::Label unaligned = a.newLabel();
  asmjit::Label end = a.newLabel();
  a.mov(x86::rax, x86::qword_ptr(x86::rdi, 8 * nest_->aligned.index));
  a.test(x86::al, 63);
  a.jnz(unaligned);
  EmitBody(code_->insts);
  a.jmp(end);
  a.bind(unaligned);
  EmitBody(code_->otherwise);
  a.bind(end);
}

void Emitter::EmitBody(const std::vector<Inst>& insts) {
  loop_heads_.assign(nest_->loops.size(), asmjit::Label());
  if (HasListing()) CommentPointers();
  if (rows_ != nullptr) RecordFirstLine();
  InitPointers();
  first_temp_ = static_cast<int>(code_->registers.size());
  for (const Inst& inst : insts) {
    temps_ = TempsOf(*code_, inst, isa_);
    EmitInst(inst);
    first_temp_ += temps_.vectors + temps_.masks;
  }
}

// By frequency; what is left over is spilled.
void Emitter::AssignPointerRegisters() {
  const size_t num_pointers = nest_->pointers.size();
  std::vector<double> frequencies;
  for (const Pointer& pointer : nest_->pointers) {
    frequencies.push_back(pointer.frequency);
  }
  for (const Loop& loop : nest_->loops) frequencies.push_back(loop.frequency);
  std::vector<size_t> order(frequencies.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return frequencies[a] > frequencies[b];
  });
  pointer_locations_.assign(num_pointers, {});
  counter_locations_.assign(nest_->loops.size(), {});
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const size_t k = order[rank];
    PointerLocation& location = k < num_pointers
                                    ? pointer_locations_[k]
                                    : counter_locations_[k - num_pointers];
    if (rank < kNumPointerRegisters) {
      location.reg = PointerRegisters()[rank];
    } else {
      location.slot = pointer_slots_ +
                      8 * static_cast<int32_t>(rank - kNumPointerRegisters);
    }
  }
}

void Emitter::InitPointers() {
  for (size_t k = 0; k < nest_->pointers.size(); ++k) {
    const PointerLocation& location = pointer_locations_[k];
    if (location.slot < 0) {
      InitPointer(nest_->pointers[k], location.reg);
    } else {
      InitPointer(nest_->pointers[k], x86::rdx);
      assembler_.mov(Slot(location.slot, 8), x86::rdx);
    }
  }
}

void Emitter::InitPointer(const Pointer& pointer, const Gp& reg) {
  x86::Assembler& a = assembler_;
  if (pointer.base == Pointer::kNumber) {
    a.xor_(reg.r32(), reg.r32());
  } else {
    a.mov(reg, x86::qword_ptr(x86::rdi, 8 * pointer.base.index));
  }
  if (pointer.value.offset() != 0) {
    a.mov(x86::rax, pointer.value.offset());
    a.add(reg, x86::rax);
  }
  for (const Affine::Term& term : pointer.value.terms()) {
    if (term.symbol.kind == Symbol::kStatic) {
      AddScaled(reg, kStaticsSlot, term.symbol.number, term.factor);
    } else if (!nest_->loops.empty() && nest_->loops[0].is_parallel &&
               nest_->loops[0].iterator == term.symbol.iterator()) {
      AddScaled(reg, kLoSlot, -1, term.factor);
    }
  }
}

// reg += factor * the number in `slot`, or that in an array that it points to.
void Emitter::AddScaled(const Gp& reg, int32_t slot, int32_t element,
                        int64_t factor) {
  x86::Assembler& a = assembler_;
  a.mov(x86::rax, Slot(slot, 8));
  if (element >= 0) a.mov(x86::rax, x86::qword_ptr(x86::rax, 8 * element));
  if (FitsImmediate(factor)) {
    a.imul(x86::rax, x86::rax, factor);
  } else {
    a.mov(x86::rcx, factor);
    a.imul(x86::rax, x86::rcx);
  }
  a.add(reg, x86::rax);
}

void Emitter::AddTo(const PointerLocation& location, int64_t bytes) {
  if (bytes == 0) return;
  x86::Assembler& a = assembler_;
  Operand target =
      location.slot < 0 ? Operand(location.reg) : Slot(location.slot, 8);
  if (FitsImmediate(bytes)) {
    a.emit(x86::Inst::kIdAdd, target, asmjit::imm(bytes));
  } else {
    a.mov(x86::rax, bytes);
    a.emit(x86::Inst::kIdAdd, target, x86::rax);
  }
}

void Emitter::EmitLoop(const Inst& inst) {
  x86::Assembler& a = assembler_;
  const Loop& loop = nest_->loops[inst.loop];
  const PointerLocation& counter = counter_locations_[inst.loop];
  Gp value = counter.slot < 0 ? counter.reg : x86::rax;
  if (loop.is_parallel) {
    a.mov(value, Slot(kHiSlot, 8));
    a.sub(value, Slot(kLoSlot, 8));
  } else {
    a.mov(value, loop.extent);
  }
  if (counter.slot >= 0) a.mov(Slot(counter.slot, 8), x86::rax);
  loop_heads_[inst.loop] = a.newLabel();
  a.align(asmjit::AlignMode::kCode, 32);
  a.bind(loop_heads_[inst.loop]);
}

void Emitter::EmitEndLoop(const Inst& inst) {
  x86::Assembler& a = assembler_;
  const Loop& loop = nest_->loops[inst.loop];
  const PointerLocation& counter = counter_locations_[inst.loop];
  for (const PointerIncrement& increment : loop.increments) {
    AddTo(pointer_locations_[increment.pointer], increment.bytes);
  }
  if (counter.slot < 0) {
    a.dec(counter.reg);
  } else {
    a.dec(Slot(counter.slot, 8));
  }
  a.jnz(loop_heads_[inst.loop]);
  if (loop.is_parallel) return;
  for (const PointerIncrement& increment : loop.increments) {
    AddTo(pointer_locations_[increment.pointer],
          -increment.bytes * loop.extent);
  }
}

void Emitter::EmitInst(const Inst& inst) {
  if (HasListing()) CommentInst(inst);
  if (rows_ != nullptr) RecordLineOf(inst);
  switch (inst.opcode) {
#define INSTRUCTION(name, ...) \
  case Opcode::k##name:        \
    return Emit##name(inst);
#define ENCODED(name, ...) case Opcode::k##name:
#include "ocannl/jit/vcode/instructions.def"
    EmitEncoded(inst, EncodingOf(inst, isa_));
    return Finish(inst);
  }
}

void Emitter::EmitWhen(const Inst& inst) {
  x86::Assembler& a = assembler_;
  if (HasEvex()) {
    const KReg mask = InMask(inst, 0);
    inst.lanes > 8 ? a.kortestw(mask, mask) : a.kortestb(mask, mask);
  } else {
    const Vec mask = In(inst, 0);
    a.vtestps(mask, mask);
  }
  when_end_ = a.newLabel();
  a.jz(when_end_);
}

void Emitter::EmitEndWhen(const Inst&) { assembler_.bind(when_end_); }

void Emitter::EmitSourceLoc(const Inst&) {}  // for listings and debuggers
void Emitter::EmitNop(const Inst&) {}
void Emitter::EmitPrefetch(const Inst& inst) {
  assembler_.prefetcht1(At(inst.memory));
}
void Emitter::EmitFence(const Inst&) { assembler_.sfence(); }

void Emitter::EmitPool() {
  if (uses_stub_) {
    assembler_.align(asmjit::AlignMode::kData, sizeof(uint64_t));
    assembler_.bind(run_helper_);
    assembler_.embedUInt64(0);
  }
  if (pool_.empty()) return;
  assembler_.align(asmjit::AlignMode::kData, 64);
  assembler_.bind(pool_label_);
  assembler_.embed(pool_.data(), pool_.size());
}

}  // namespace ocannl::jit
