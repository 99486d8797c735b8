// SPDX-License-Identifier: Apache-2.0
//
// NestEditor: inserts instructions into a nest and replaces others. The numbers
// of instructions are those before the edit until Finish.
#ifndef OCANNL_JIT_VCODE_PASSES_NEST_EDITOR_H_
#define OCANNL_JIT_VCODE_PASSES_NEST_EDITOR_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

class NestEditor {
 public:
  explicit NestEditor(Nest& nest) : nest_(nest) {}

  const std::vector<Inst>& insts() const { return nest_.insts; }
  // The buffer into which `pointer` points.
  BufferId BaseOf(int32_t pointer) const {
    return nest_.pointers[pointer].base;
  }

  // Calls `visit(begin, end)` for the instructions of each basic block.
  void VisitBasicBlocks(absl::FunctionRef<void(size_t, size_t)> visit);

  // Appends to what will come before instruction `at`; Define makes a register
  // for the result and returns it.
  void Insert(size_t at, const Inst& inst) { made_.emplace_back(at, inst); }
  VReg Define(size_t at, Inst inst);
  // Defines a shuffle of two registers, which may have fewer lanes.
  VReg Shuffle(size_t at, ShuffleKind kind, int selector, DType dtype,
               int lanes, VReg a, VReg b);

  // The instruction disappears; `reg` holds its result.
  void Replace(size_t inst, VReg reg);
  void Remove(size_t inst) { nest_.insts[inst] = Nop(); }

  // Makes the changes. Called once, last.
  void Finish();

 private:
  Nest& nest_;
  std::vector<std::pair<size_t, Inst>> made_;  // before which, and what
  absl::flat_hash_map<VReg, VReg> renamed_;    // results of what was replaced
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_PASSES_NEST_EDITOR_H_
