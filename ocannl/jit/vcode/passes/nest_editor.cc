// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/passes/nest_editor.h"

#include <algorithm>

#include "absl/algorithm/container.h"

namespace ocannl::jit {

void NestEditor::VisitBasicBlocks(
    absl::FunctionRef<void(size_t, size_t)> visit) {
  size_t begin = 0;
  for (size_t k = 0; k < nest_.insts.size(); ++k) {
    if (IsBlockBoundary(nest_.insts[k].opcode)) {
      visit(begin, k);
      begin = k + 1;
    }
  }
  visit(begin, nest_.insts.size());
}

VReg NestEditor::Define(size_t at, Inst inst) {
  inst.dst = VReg(nest_.registers.size());
  nest_.registers.push_back({inst.dtype, inst.lanes, /*is_mutable=*/false});
  Insert(at, inst);
  return inst.dst;
}

VReg NestEditor::Shuffle(size_t at, ShuffleKind kind, int selector, DType dtype,
                         int lanes, VReg a, VReg b) {
  return Define(at, {.opcode = Opcode::kShuffle,
                     .dtype = dtype,
                     .operand = dtype,
                     .lanes = static_cast<uint8_t>(lanes),
                     .active_lanes = static_cast<uint8_t>(lanes),
                     .shuffle = kind,
                     .selector = static_cast<uint8_t>(selector),
                     .args = {RegValue(a), RegValue(b), Value{}}});
}

void NestEditor::Replace(size_t inst, VReg reg) {
  renamed_[nest_.insts[inst].dst] = reg;
  Remove(inst);
}

void NestEditor::Finish() {
  absl::c_stable_sort(
      made_, [](const auto& a, const auto& b) { return a.first < b.first; });
  // In place, from the back.
  size_t from = nest_.insts.size();
  nest_.insts.resize(from + made_.size());
  auto to = nest_.insts.end();
  const auto begin = nest_.insts.begin();
  for (size_t k = made_.size(); k-- > 0;) {
    const auto& [at, inst] = made_[k];
    to = std::copy_backward(begin + at, begin + from, to);
    *--to = inst;
    from = at;
  }
  if (renamed_.empty()) return;
  for (Inst& inst : nest_.insts) {
    for (Value& arg : inst.args) {
      if (arg.kind != Value::kReg) continue;
      const auto renamed = renamed_.find(arg.reg());
      if (renamed != renamed_.end()) arg = RegValue(renamed->second);
    }
  }
}

}  // namespace ocannl::jit
