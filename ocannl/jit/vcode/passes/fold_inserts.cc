// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "ocannl/jit/vcode/liveness.h"
#include "ocannl/jit/vcode/operands.h"
#include "ocannl/jit/vcode/passes/passes.h"

namespace ocannl::jit {
namespace {

// Liveness of each lane, a bit each: backward data-flow analysis to a fixpoint
// around loops (demanded lanes).
class LaneLiveness {
 public:
  explicit LaneLiveness(const Nest& nest)
      : nest_(nest), live_(nest.registers.size(), 0) {
    at_start_.resize(nest.loops.size(), live_);
  }

  // Calls `visit` with each instruction, the last one first, and the lanes of
  // its result that are live after it: once the fixpoint is reached.
  void Walk(absl::FunctionRef<void(size_t, uint32_t lanes)> visit) {
    while (Pass([](size_t, uint32_t) {})) {
    }
    Pass(visit);
  }

 private:
  using LaneMasks = std::vector<uint32_t>;

  static uint32_t First(int lanes) { return (uint32_t{1} << lanes) - 1; }

  // Returns whether more is live around some loop than was known.
  bool Pass(absl::FunctionRef<void(size_t, uint32_t)> visit) {
    bool is_more = false;
    std::fill(live_.begin(), live_.end(), 0);
    for (size_t k = nest_.insts.size(); k-- > 0;) {
      const Inst& inst = nest_.insts[k];
      if (inst.opcode == Opcode::kEndLoop) {
        Add(at_start_[inst.loop], live_);
      } else if (inst.opcode == Opcode::kLoop) {
        is_more = Add(live_, at_start_[inst.loop]) || is_more;
      } else {
        visit(k, !inst.dst.is_valid() ? 0 : live_[inst.dst.index]);
        Transfer(inst);
      }
    }
    return is_more;
  }

  static bool Add(const LaneMasks& lanes, LaneMasks& to) {
    bool is_more = false;
    for (size_t k = 0; k < lanes.size(); ++k) {
      is_more = is_more || (lanes[k] & ~to[k]) != 0;
      to[k] |= lanes[k];
    }
    return is_more;
  }

  void Transfer(const Inst& inst) {
    uint32_t read = inst.opcode == Opcode::kShuffle ? ~uint32_t{0}
                    : inst.opcode == Opcode::kSplat ? 1
                                                    : First(inst.lanes);
    if (inst.opcode == Opcode::kInsert) {
      const uint32_t written = First(inst.active_lanes) << inst.lane;
      read = (live_[inst.dst.index] & written) >> inst.lane;
      live_[inst.dst.index] &= ~written;
    } else if (inst.dst.is_valid()) {
      const uint32_t wanted = live_[inst.dst.index] & First(inst.lanes);
      if (inst.opcode == Opcode::kExtract) read = wanted << inst.lane;
      if (Computes(inst.opcode) || inst.opcode == Opcode::kCopy) read = wanted;
      live_[inst.dst.index] = 0;
    }
    for (const Value& arg : inst.args) {
      if (arg.kind == Value::kReg) live_[arg.index] |= read;
    }
  }

  const Nest& nest_;
  LaneMasks live_;
  std::vector<LaneMasks> at_start_;  // by loop
};

}  // namespace

void FoldInserts(Nest& nest, Isa) {
  auto is_insert = [](const Inst& inst) {
    return inst.opcode == Opcode::kInsert && inst.lane == 0 &&
           inst.args[0].kind == Value::kReg;
  };
  if (std::none_of(nest.insts.begin(), nest.insts.end(), is_insert)) return;
  const std::vector<int> uses = CountUses(nest);
  std::vector<size_t> folded;
  LaneLiveness(nest).Walk([&](size_t k, uint32_t live) {
    const Inst& inst = nest.insts[k];
    const bool keeps_others = (live >> inst.active_lanes) != 0;
    if (is_insert(inst) && !keeps_others) folded.push_back(k);
  });
  for (size_t k : folded) {
    Inst& insert = nest.insts[k];
    const VReg value = insert.args[0].reg();
    const Register& reg = nest.registers[insert.dst.index];
    size_t before = k;
    while (before > 0 && DoesNothing(nest.insts[before - 1].opcode)) --before;
    Inst* made = before > 0 ? &nest.insts[before - 1] : nullptr;
    if (made != nullptr && made->dst == value && IsPure(made->opcode) &&
        CanDefine(*made, reg) && uses[value.index] == 1 &&
        !nest.registers[value.index].is_mutable) {
      made->dst = insert.dst;
      insert = Nop();
    } else {
      insert.opcode = Opcode::kCopy;
      insert.lanes = std::min(reg.lanes, nest.registers[value.index].lanes);
    }
  }
}

}  // namespace ocannl::jit
