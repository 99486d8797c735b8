// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/liveness.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "ocannl/jit/vcode/operands.h"

namespace ocannl::jit {
namespace {

class Liveness {
 public:
  Liveness(const Nest& nest, Isa isa)
      : nest_(nest), isa_(isa), ends_(EndsOfLoops(nest)) {
    intervals_.reserve(nest.registers.size());
    for (const Register& reg : nest.registers) {
      intervals_.push_back({.is_mask = IsMask(reg.dtype, isa)});
    }
  }

  std::vector<LiveInterval> Run() && {
    for (size_t k = 0; k < nest_.insts.size(); ++k) {
      const Inst& inst = nest_.insts[k];
      const int at = static_cast<int>(2 * k);
      if (inst.opcode == Opcode::kLoop) {
        open_.push_back({at, static_cast<int>(2 * ends_[inst.loop]),
                         nest_.loops[inst.loop].frequency});
      }
      if (inst.opcode == Opcode::kEndLoop) open_.pop_back();
      if (inst.opcode == Opcode::kWhen) is_rare_ = true;
      if (inst.opcode == Opcode::kEndWhen) is_rare_ = false;
      const int late = DefinesEarly(inst.opcode) ? at + 1 : at;
      for (int arg = 0; arg < 3; ++arg) {
        if (inst.args[arg].kind != Value::kReg) continue;
        Touch(inst.args[arg].reg(), arg > 0 ? late : at, inst);
      }
      if (inst.mask.is_valid()) Touch(inst.mask, late, inst);
      if (inst.dst.is_valid()) Touch(inst.dst, at + 1, inst);
      const Temps temps = TempsOf(nest_, inst, isa_);
      for (int temp = 0; temp < temps.vectors + temps.masks; ++temp) {
        intervals_.push_back({.first = at,
                              .last = at + 1,
                              .is_mask = temp >= temps.vectors,
                              .uses = std::numeric_limits<double>::infinity()});
      }
    }
    return std::move(intervals_);
  }

 private:
  struct Open {
    int begin;
    int end;
    double frequency;
  };

  void Touch(VReg reg, int at, const Inst& inst) {
    LiveInterval& interval = intervals_[reg.index];
    if (interval.first < 0) {
      interval.first = at;
      // Not defined as a whole: live around the loops, from an iteration
      // before.
      const bool is_defined =
          inst.dst == reg && IsPure(inst.opcode) &&
          std::none_of(inst.args.begin(), inst.args.end(),
                       [&](const Value& arg) { return arg == RegValue(reg); });
      if (!is_defined && !open_.empty()) {
        interval.first = open_.front().begin;
        interval.last = open_.front().end;
      }
    }
    interval.last = std::max(interval.last, at);
    for (const Open& open : open_) {
      if (open.begin <= interval.first) continue;
      interval.last = std::max(interval.last, open.end);
      break;
    }
    if (!is_rare_) interval.uses += open_.empty() ? 1 : open_.back().frequency;
    auto size = SizeOf(nest_.registers[reg.index].dtype) == 8 ? 8 : 4;
    interval.bytes = std::max<int>(interval.bytes, inst.lanes * size);
  }

  const Nest& nest_;
  const Isa isa_;
  const std::vector<size_t> ends_;
  std::vector<LiveInterval> intervals_;
  std::vector<Open> open_;
  bool is_rare_ = false;
};

}  // namespace

std::vector<LiveInterval> LiveIntervals(const Nest& nest, Isa isa) {
  return Liveness(nest, isa).Run();
}

std::array<std::vector<int>, 2> RegisterPressure(const Nest& nest, Isa isa) {
  std::array<std::vector<int>, 2> pressure;
  for (std::vector<int>& kind : pressure) {
    kind.resize(2 * nest.insts.size() + 1);
  }
  for (const LiveInterval& interval : LiveIntervals(nest, isa)) {
    if (interval.first < 0) continue;
    ++pressure[interval.is_mask][interval.first];
    --pressure[interval.is_mask][interval.last + 1];
  }
  for (std::vector<int>& kind : pressure) {
    std::partial_sum(kind.begin(), kind.end(), kind.begin());
  }
  return pressure;
}

std::vector<int> CountUses(const Nest& nest) {
  std::vector<int> uses(nest.registers.size(), 0);
  for (const Inst& inst : nest.insts) {
    for (const Value& arg : inst.args) {
      if (arg.kind == Value::kReg) ++uses[arg.index];
    }
    if (inst.mask.is_valid()) ++uses[inst.mask.index];
  }
  return uses;
}

std::vector<size_t> EndsOfLoops(const Nest& nest) {
  std::vector<size_t> ends(nest.loops.size());
  for (size_t at = 0; at < nest.insts.size(); ++at) {
    const Inst& inst = nest.insts[at];
    if (inst.opcode == Opcode::kEndLoop) ends[inst.loop] = at;
  }
  return ends;
}

}  // namespace ocannl::jit
