// SPDX-License-Identifier: Apache-2.0
//
// NestBuilder: makes a Nest: appends instructions for the place where the walk
// of an unroller is, with their registers, constants, pointers and loops. Equal
// constants are one, and so are equal pointers and, in a basic block, equal
// computations and loads.
#ifndef OCANNL_JIT_VCODE_SELECT_NEST_BUILDER_H_
#define OCANNL_JIT_VCODE_SELECT_NEST_BUILDER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/select/local_value_table.h"
#include "ocannl/jit/vcode/select/unroll.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

class NestBuilder {
 public:
  // Both must outlive it.
  NestBuilder(const LoopProgram& program, const Unroller& unroller)
      : program_(program), unroller_(unroller) {}

  VReg NewRegister(DType dtype, int lanes, bool is_mutable);

  Value ConstantValue(const Constant& constant);
  const Constant& ConstantOf(Value value) const {
    return nest_.constants[value.index];
  }
  bool IsMutable(Value value) const;

  // An instruction for the lanes of the walk, not yet part of the nest.
  Inst NewInst(Opcode opcode, DType dtype, Value arg = {}) const;

  void Append(const Inst& inst) { nest_.insts.push_back(inst); }
  // Appends with a new register for the result.
  Value Define(Inst inst);
  // What `inst`, which reads no memory, computes; in `into`, a mutable
  // register, if that is valid.
  Value Compute(Inst inst, VReg into = {});
  // What `inst`, a kApply, computes; folded where all operands are constants.
  // Some operations have an opcode of their own.
  Value Apply(Inst inst, VReg into = {});
  Value InRegister(Value value, DType dtype);
  // The first lane of `value` in every lane.
  Value Splat(Value value, DType dtype);
  // The index as a number of `dtype`, i32 or i64.
  Value Index(const Affine& index, DType dtype);

  Value Load(const Access& access);
  void Store(const Access& access, Value value);
  Value LoadRow(const Lookup& lookup);
  void StoreRow(const Lookup& lookup, Value value);
  void Zero(BufferId buffer);

  // The mutable register has got another value.
  void KillRegister(VReg reg) { value_table_.KillRegister(reg); }

  // The statement that the next instructions come from, and its text.
  void SetSourceLoc(const Stmt* stmt, absl::FunctionRef<std::string()> line);

  void BeginLoop(const For& loop);
  void EndLoop(const For& loop);

  // What is up to EndWhen runs only where the mask is set in a lane.
  void BeginWhen(Value mask);
  void EndWhen();

  Nest Take() && { return std::move(nest_); }

 private:
  struct OpenLoop {
    int32_t number;
    size_t begin;  // its first instruction
  };

  int64_t ByteSize(BufferId buffer) const;

  int32_t PointerOf(BufferId base, const Affine& offset);

  // `offset` is in bytes from the buffer `base`, in ones for
  // Pointer::kNumber; its factor of the lanes' iterator is the stride.
  Memory MemoryAt(BufferId base, Affine offset);
  MemoryRef MemoryRefOf(const Access& access);

  // A kLookup or kScatter, not yet part of the nest; operand `arg` gets the
  // rows, which the nest loads.
  Inst NewRowAccess(Opcode opcode, const Lookup& lookup, int arg);

  // Makes neg or abs of a float an operation on its bits.
  void ComputeSign(Inst& inst);

  // Constants get registers where the instruction cannot take them from memory;
  // a select of a value or 0 is a zeroing mask.
  void MaterialiseConstants(Inst& inst);

  // Whether a loaded value, which memory has too, is worth its register.
  bool IsWorthKeeping(Value value);

  const LoopProgram& program_;
  const Unroller& unroller_;
  Nest nest_;
  absl::flat_hash_map<std::pair<BufferId, Affine>, int32_t> pointers_;
  absl::flat_hash_map<Constant, int32_t> constants_;
  absl::flat_hash_map<const Stmt*, int32_t> source_locs_;
  LocalValueTable value_table_;
  std::vector<size_t> used_at_;  // when, by register; 0: it is not loaded
  std::vector<size_t> pointer_used_at_;  // by pointer
  std::vector<OpenLoop> open_;
  double frequency_ = 1;  // runs of the block at hand
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_SELECT_NEST_BUILDER_H_
