// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/allocate.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ocannl/jit/vcode/liveness.h"

namespace ocannl::jit {
namespace {

class Allocator {
 public:
  Allocator(const Nest& nest, const std::vector<LiveInterval>& intervals,
            Isa isa, bool spills)
      : nest_(nest), intervals_(intervals), spills_(spills) {
    for (bool masks : {false, true}) {
      std::vector<VReg>& owners = owners_[masks];
      owners.assign(NumRegisters(masks, isa), VReg());
      if (owners.empty()) continue;
      if (masks) owners[0] = kReserved;
      if (!spills) continue;
      std::fill(owners.end() - kNumReloads, owners.end(), kReserved);
    }
    result_.locations.resize(intervals.size());
  }

  // Whether all have a place. Without registers for reloads, it ends at the
  // first value that it would spill.
  bool Run() {
    // A counting sort by where they begin.
    std::vector<int32_t> ends(2 * nest_.insts.size() + 1);
    for (const LiveInterval& interval : intervals_) ++ends[interval.first + 1];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<VReg> order(intervals_.size());
    for (size_t reg = order.size(); reg-- > 0;) {
      order[--ends[intervals_[reg].first + 1]] = VReg(reg);
    }
    for (VReg reg : order) {
      if (intervals_[reg.index].first >= 0) Assign(reg);
      if (spilled_ && !spills_) return false;
    }
    return true;
  }

  Allocation Take() && { return std::move(result_); }

 private:
  static constexpr VReg kReserved = VReg(-2);

  void Assign(VReg reg) {
    const LiveInterval& interval = intervals_[reg.index];
    std::vector<VReg>& owners = owners_[interval.is_mask];
    int best = CoalescingHint(reg, owners);
    for (size_t k = 0; k < owners.size() && best < 0; ++k) {
      if (IsFree(owners[k], interval)) best = static_cast<int>(k);
    }
    if (best < 0) {
      best = LeastSpillWeight(reg, owners);
      if (best < 0) return Spill(reg);
      Spill(owners[best]);
    }
    owners[best] = reg;
    result_.locations[reg.index] = {.reg = static_cast<int8_t>(best)};
  }

  // The register of an operand whose interval the defining instruction ends, or
  // -1: two-address forms, as of vfmadd, and copies need no move then.
  int CoalescingHint(VReg reg, const std::vector<VReg>& owners) const {
    const Inst& inst = nest_.insts[intervals_[reg.index].first / 2];
    if (inst.dst != reg) return -1;
    if (!Computes(inst.opcode) && inst.opcode != Opcode::kCopy) return -1;
    for (int k : {2, 0, 1}) {
      const Value& arg = inst.args[k];
      if (arg.kind != Value::kReg) continue;
      const int hint = result_.locations[arg.index].reg;
      if (hint < 0 || static_cast<size_t>(hint) >= owners.size()) continue;
      if (owners[hint] == arg.reg() &&
          intervals_[arg.index].last < intervals_[reg.index].first) {
        return hint;
      }
    }
    return -1;
  }

  // An operand's register may be the result's.
  bool IsFree(VReg owner, const LiveInterval& interval) const {
    return owner != kReserved &&
           (!owner.is_valid() || intervals_[owner.index].last < interval.first);
  }

  // The register whose owner's spill weight is least; -1: that of `reg` is.
  int LeastSpillWeight(VReg reg, const std::vector<VReg>& owners) const {
    int best = -1;
    double least = SpillWeight(reg);
    for (size_t k = 0; k < owners.size(); ++k) {
      if (owners[k] == kReserved || SpillWeight(owners[k]) >= least) continue;
      best = static_cast<int>(k);
      least = SpillWeight(owners[k]);
    }
    return best;
  }

  double SpillWeight(VReg reg) const {
    const LiveInterval& interval = intervals_[reg.index];
    return interval.uses / (interval.last / 2 - interval.first / 2 + 1);
  }

  void Spill(VReg reg) {
    spilled_ = true;
    const Inst& inst = nest_.insts[intervals_[reg.index].first / 2];
    const bool is_constant = inst.opcode == Opcode::kCopy && inst.dst == reg &&
                             inst.args[0].kind == Value::kConst;
    if (is_constant && !nest_.registers[reg.index].is_mutable) {
      result_.locations[reg.index] = {.constant = inst.args[0].index};
      return;
    }
    const int bytes = intervals_[reg.index].bytes <= 16   ? 16
                      : intervals_[reg.index].bytes <= 32 ? 32
                                                          : 64;
    const int32_t slot = (result_.spill_bytes + bytes - 1) / bytes * bytes;
    result_.locations[reg.index] = {.slot = slot};
    result_.spill_bytes = slot + bytes;
  }

  const Nest& nest_;
  const std::vector<LiveInterval>& intervals_;
  const bool spills_;
  std::vector<VReg> owners_[2];  // vectors, masks
  bool spilled_ = false;
  Allocation result_;
};

}  // namespace

Allocation Allocate(const Nest& nest, Isa isa) {
  const std::vector<LiveInterval> intervals = LiveIntervals(nest, isa);
  Allocator without(nest, intervals, isa, /*spills=*/false);
  if (without.Run()) return std::move(without).Take();
  Allocator with(nest, intervals, isa, /*spills=*/true);
  with.Run();
  return std::move(with).Take();
}

}  // namespace ocannl::jit
