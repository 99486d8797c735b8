// SPDX-License-Identifier: Apache-2.0
//
// Emitter: VCode with the locations of its values -> machine code, by
// AsmJit's assembler.
//
// A function is called as f(buffers, statics, lo, hi) and runs nests in order;
// lo and hi bound a parallel loop. While it runs, rdi holds `buffers`, and rax,
// rcx and rdx are temps of every instruction. The other general registers hold
// pointers and loop counters; spilled ones are in the stack frame:
//
//   rsp ->  | caller's rsp | statics | lo | hi | pointers | operands | spills |
//
// Functions that need no slot have no frame: setting one up takes as long
// as a part of a small product (`bazel run //experiments:bench --
// --filter=gemm/`).
#ifndef OCANNL_JIT_EMIT_EMITTER_H_
#define OCANNL_JIT_EMIT_EMITTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "asmjit/asmjit.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/debug/debug_rows.h"
#include "ocannl/jit/vcode/allocate.h"
#include "ocannl/jit/vcode/encoding.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/operands.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

using NestFunction = void (*)(std::byte* const* buffers, const int64_t* statics,
                              int64_t lo, int64_t hi);

class Emitter {
 public:
  // For the nests of `program`, which LowerToVcode returned and which stay.
  // `rows`, if any, gets what debuggers are told.
  Emitter(asmjit::x86::Assembler& assembler, const LoopProgram& program,
          absl::Span<const Nest> nests, Isa isa, DebugRows* rows);

  // A function that runs some of the nests in order.
  void EmitFunction(const std::vector<const Nest*>& nests);

  // The stub of helper calls, if there are any: whether. Called once, after the
  // functions, and then EmitPool, the constant pool.
  bool EmitStub();
  void EmitPool();

  // Where the address of RunHelper is to be written; not bound: nowhere.
  const asmjit::Label& run_helper() const { return run_helper_; }

 private:
  using Vec = asmjit::x86::Vec;
  using KReg = asmjit::x86::KReg;
  using Gp = asmjit::x86::Gp;
  using Mem = asmjit::x86::Mem;
  using Operand = asmjit::Operand;
  using InstId = asmjit::InstId;

  // Where a pointer or a counter is: in a register, or in the frame.
  struct PointerLocation {
    Gp reg;
    int32_t slot = -1;
  };

  // emit_*.cc: EmitLoad and so on, of each instruction.
#define INSTRUCTION(name, ...) void Emit##name(const Inst& inst);
#define ENCODED(...)
#include "ocannl/jit/vcode/instructions.def"

  // emitter.cc: functions, pointers and loops.
  // The nest that has the instructions of `nest`.
  const Nest* CodeOf(const Nest* nest) const;
  void LayOutFrame(const std::vector<const Nest*>& nests);
  void AssignPointerRegisters();
  void EmitNest();
  void EmitBody(const std::vector<Inst>& insts);
  void InitPointers();
  void InitPointer(const Pointer& pointer, const Gp& reg);
  void AddScaled(const Gp& reg, int32_t slot, int32_t element, int64_t factor);
  void AddTo(const PointerLocation& location, int64_t bytes);
  void EmitInst(const Inst& inst);

  // emit_comment.cc: what only a listing shows.
  bool HasListing() const { return assembler_.logger() != nullptr; }
  void Comment(const std::string& text);
  void CommentPointers();
  void CommentInst(const Inst& inst);
  void CommentLoop(const Inst& inst);

  // emit_debug.cc: what debuggers are told.
  void RecordLine(int64_t line);
  bool RecordLineOf(const Inst& inst);
  void RecordFirstLine();
  void RecordFrame(DebugRows::Base base, int32_t pushed);

  // emit_memory.cc: between memory and registers.
  void LoadWords(const Inst& inst, const Vec& dst, const Mem& from);
  void LoadMask(const Inst& inst);
  void TestLanes(const Inst& inst, const Vec& lanes);
  void LoadSubword(const Inst& inst, const Vec& dst);
  void Gather(const Inst& inst, const Vec& dst);
  void StoreWords(const Inst& inst, const Mem& to, const Vec& value);
  void StoreSubword(const Inst& inst, const Vec& packed);
  void Scatter(const Inst& inst);
  Vec NarrowLanes(const Inst& inst);
  Vec PackWords(const Vec& lanes, int bytes);

  // emit_lookup.cc: gathers and scatters of rows, with a bounds check.
  void LoadIndex(const Inst& inst, int k);
  void LoadIndexOfLane(const Inst& inst, int lane);
  void ComputeRowAddress(const Inst& inst, const asmjit::Label& none);
  void GatherByScalars(const Inst& inst);
  void GatherFromRows(const Inst& inst);
  void ScatterByScalars(const Inst& inst);

  // emit_move.cc: between registers.
  void LoadConstant(const Vec& dst, DType dtype, uint64_t bits);
  void LoadConstant(const KReg& dst, uint64_t bits);
  void Rotate(const Inst& inst, const Vec& dst, const Vec& from, int lanes);
  void InsertMask(const Inst& inst);

  // emit_apply.cc: one machine instruction; any fused multiplication and
  // addition.
  void EmitEncoded(const Inst& inst, const Encoding& encoding);
  void EmitFused(const Inst& inst);

  // emit_helper.cc
  void EmitHelperCall(const Inst& inst);

  // emit_operand.cc: operands, reloads and spills, and the constant pool.
  // Whether EVEX encodes instructions: with masks, and other names.
  bool HasEvex() const { return HasMasks(isa_); }
  static Vec VecOf(int reg, int bytes);
  // The temps of the instruction (TempsOf).
  Vec Temp(int k, int bytes) const;
  KReg TempMask(int k) const;
  // A value's register, or the one into which operand k is reloaded.
  int RegisterOf(const Location& location, bool masks, int k) const;

  // The register of operand k, `bytes` wide; reloads it where it was spilled.
  Vec In(const Inst& inst, int k, int bytes);
  Vec In(const Inst& inst, int k);
  KReg InMask(const Inst& inst, int k);
  KReg ReloadMask(VReg reg, int k);
  // The same, or memory.
  Operand RegOrMem(const Inst& inst, int k, int bytes);
  // The register for the result; Finish stores it where it was spilled.
  Vec Out(const Inst& inst, int bytes);
  Vec Out(const Inst& inst);
  KReg OutMask(const Inst& inst);
  void Finish(const Inst& inst);

  Mem At(const Memory& memory, int64_t more = 0);
  Mem Slot(int32_t slot, int32_t bytes) const;
  Mem SpillSlot(int32_t slot) const;
  Mem OperandSlot(int32_t offset) const;
  // `bytes` in the constant pool.
  Mem Pool(const std::string& bytes);
  // The constant in each lane of a vector operand.
  Mem PoolSplat(uint64_t bits, int size, int bytes);
  // `count` numbers of `size` bytes: start, start + step, ...
  Mem PoolRange(int64_t start, int64_t step, int count, int size);
  // Lanes [from, from + active) set.
  void SetMask(const KReg& mask, int64_t from, int active);
  // The lanes of memory or of the result that it has: in its mask, or set in a
  // temp; with AVX-512 and without.
  KReg LaneMask(const Inst& inst);
  Vec LaneVector(const Inst& inst, int temp);
  Mem PoolMask(const Inst& inst);

  template <class... Operands>
  void Emit(InstId id, const Operands&... operands) {
    assembler_.emit(id, operands...);
  }

  asmjit::x86::Assembler& assembler_;
  const LoopProgram& program_;
  absl::Span<const Nest> nests_;
  const Isa isa_;
  DebugRows* const rows_;
  asmjit::Label pool_label_;
  asmjit::Label stub_label_;
  asmjit::Label run_helper_;
  std::string pool_;
  absl::flat_hash_map<std::string, int32_t> pool_offsets_;
  bool uses_stub_ = false;

  // Of the function.
  absl::flat_hash_map<const Nest*, Allocation> allocations_;  // by CodeOf
  int32_t pointer_slots_ = 0;  // bytes from rsp
  int32_t operands_ = 0;
  int32_t spills_ = 0;
  int32_t frame_bytes_ = 0;
  int32_t saved_ = 0;  // pointer registers in use, at least kNumCallerSaved
  bool has_frame_ = true;

  // Of the nest.
  const Nest* nest_ = nullptr;
  const Nest* code_ = nullptr;  // CodeOf(nest_)
  const Allocation* allocation_ = nullptr;
  Temps temps_;         // of the instruction
  int first_temp_ = 0;  // of the locations of the allocation
  std::vector<PointerLocation> pointer_locations_;
  std::vector<PointerLocation> counter_locations_;
  std::vector<asmjit::Label> loop_heads_;
  asmjit::Label when_end_;
  bool has_row_address_ = false;  // rdx is the pointer of inst.memory
  int64_t source_loc_ = -1;       // the last one met
  int64_t commented_ = -1;        // the last one that the listing shows
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_EMIT_EMITTER_H_
