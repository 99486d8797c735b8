// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/passes/nest_editor.h"

#include <utility>

namespace ocannl::jit {

void NestEditor::VisitBasicBlocks(
    absl::FunctionRef<void(size_t, size_t)> visit) {
  size_t begin = 0;
  for (size_t k = 0; k < nest_.insts.size(); ++k) {
    if (IsLoopBoundary(nest_.insts[k].opcode)) {
      visit(begin, k);
      begin = k + 1;
    }
  }
  visit(begin, nest_.insts.size());
}

VReg NestEditor::NewRegister(DType dtype) {
  nest_.registers.push_back({.dtype = dtype,
                             .lanes = static_cast<uint8_t>(lanes_),
                             .is_mutable = false});
  return VReg(nest_.registers.size() - 1);
}

VReg NestEditor::Shuffle(size_t at, ShuffleKind kind, int selector, DType dtype,
                         VReg a, VReg b) {
  Inst inst{.opcode = Opcode::kShuffle, .dtype = dtype, .operand = dtype};
  inst.lanes = inst.active_lanes = static_cast<uint8_t>(lanes_);
  inst.shuffle = kind;
  inst.selector = static_cast<uint8_t>(selector);
  inst.args = {RegValue(a), RegValue(b), Value{}};
  inst.dst = NewRegister(dtype);
  made_[at].push_back(inst);
  return inst.dst;
}

VReg NestEditor::Load(size_t at, Inst like) {
  like.dst = NewRegister(like.dtype);
  made_[at].push_back(like);
  return like.dst;
}

void NestEditor::Store(size_t at, Inst like, VReg value) {
  like.args[0] = RegValue(value);
  made_[at].push_back(like);
}

void NestEditor::Replace(size_t load, VReg reg) {
  renamed_[nest_.insts[load].dst] = reg;
  Remove(load);
}

void NestEditor::Rename(Inst& inst) const {
  for (Value& arg : inst.args) {
    if (arg.kind != Value::kReg) continue;
    auto renamed = renamed_.find(arg.reg());
    if (renamed != renamed_.end()) arg = RegValue(renamed->second);
  }
}

void NestEditor::Finish() {
  if (made_.empty()) return;
  std::vector<Inst> insts;
  for (size_t k = 0; k < nest_.insts.size(); ++k) {
    auto made = made_.find(k);
    if (made != made_.end()) {
      insts.insert(insts.end(), made->second.begin(), made->second.end());
    }
    insts.push_back(nest_.insts[k]);
  }
  for (Inst& inst : insts) Rename(inst);
  nest_.insts = std::move(insts);
}

}  // namespace ocannl::jit
