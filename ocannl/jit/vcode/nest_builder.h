// SPDX-License-Identifier: Apache-2.0
//
// NestBuilder: makes a Nest: its registers, constants, pointers and loops.
// Equal constants are one, and so are equal pointers.
#ifndef OCANNL_JIT_VCODE_NEST_BUILDER_H_
#define OCANNL_JIT_VCODE_NEST_BUILDER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/unroll.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

class NestBuilder {
 public:
  VReg NewRegister(DType dtype, int lanes, bool is_mutable);

  Value ConstantValue(const Constant& constant);
  // Of a float: the bits that neg flips, or those that abs keeps.
  Value SignMask(Op op, DType dtype);
  // The table of vfixupimm that replaces NaNs of a float, and nothing else.
  Value NanRule(DType dtype);
  const Constant& ConstantOf(Value value) const {
    return nest_.constants[value.index];
  }
  bool IsMutable(Value value) const;

  // A kLookup or kScatter, not yet part of the nest; operand `arg` gets the
  // rows, which the nest loads.
  Inst NewRowAccess(Opcode opcode, const LoopProgram& program,
                    const Unroller& unroller, const Lookup& lookup, int arg);

  // `offset` is in bytes from the buffer `base`, in ones for
  // Pointer::kNumber; its factor of the lanes' iterator is the stride.
  Memory MemoryAt(BufferId base, Affine offset, const Lanes& lanes);

  // An instruction for `lanes`, not yet part of the nest.
  static Inst NewInst(Opcode opcode, DType dtype, const Lanes& lanes);

  // Appends; returns its number.
  int Append(const Inst& inst);
  // Appends with a new register for the result.
  Value Define(Inst inst);
  void Drop(int inst) { nest_.insts[inst] = Nop(); }

  // The statement that the next instructions come from, and its text.
  void SetSourceLoc(const Stmt* stmt, absl::FunctionRef<std::string()> line);

  int64_t size() const { return static_cast<int64_t>(nest_.insts.size()); }
  bool is_in_loop() const { return !open_.empty(); }
  void BeginLoop(const For& loop);
  void EndLoop(const For& loop);

  Nest Take() && { return std::move(nest_); }

 private:
  struct OpenLoop {
    int64_t number;
    IteratorId iterator;
    absl::flat_hash_set<int32_t> pointers = {};  // that depend on it
  };

  int32_t PointerOf(BufferId base, const Affine& offset);

  Nest nest_;
  absl::flat_hash_map<std::pair<BufferId, Affine>, int32_t> pointers_;
  absl::flat_hash_map<Constant, int32_t> constants_;
  absl::flat_hash_map<const Stmt*, int64_t> source_locs_;
  std::vector<OpenLoop> open_;
  double frequency_ = 1;  // runs of the block at hand
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_NEST_BUILDER_H_
