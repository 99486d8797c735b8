// SPDX-License-Identifier: Apache-2.0
//
// NestEditor: replaces strided loads and stores of basic blocks by contiguous
// ones and shuffles.
#ifndef OCANNL_JIT_VCODE_PASSES_NEST_EDITOR_H_
#define OCANNL_JIT_VCODE_PASSES_NEST_EDITOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

class NestEditor {
 public:
  NestEditor(Nest& nest, Isa isa) : nest_(nest), lanes_(VectorBytes(isa) / 4) {}

  const std::vector<Inst>& insts() const { return nest_.insts; }
  // The buffer into which `pointer` points.
  BufferId BaseOf(int32_t pointer) const {
    return nest_.pointers[pointer].base;
  }
  int lanes() const { return lanes_; }  // of 32 bits

  // Calls `visit(begin, end)` for the instructions of each basic block.
  void VisitBasicBlocks(absl::FunctionRef<void(size_t, size_t)> visit);

  // Appends to what will come before instruction `at`: a shuffle of two
  // registers, or a load or store `like` another. Returns the result.
  VReg Shuffle(size_t at, ShuffleKind kind, int selector, DType dtype, VReg a,
               VReg b);
  VReg Load(size_t at, Inst like);
  void Store(size_t at, Inst like, VReg value);

  // The load disappears; `reg` holds what it loaded.
  void Replace(size_t load, VReg reg);
  void Remove(size_t inst) { nest_.insts[inst] = Nop(); }

  // Makes the changes. Called once, last.
  void Finish();

 private:
  VReg NewRegister(DType dtype);
  void Rename(Inst& inst) const;

  Nest& nest_;
  const int lanes_;
  std::map<size_t, std::vector<Inst>> made_;  // and before which
  std::map<VReg, VReg> renamed_;              // results of replaced loads
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_PASSES_NEST_EDITOR_H_
