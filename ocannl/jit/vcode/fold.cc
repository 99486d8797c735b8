// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/fold.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"

namespace ocannl::jit {
namespace {

bool IsPureCode(Code code) {
  switch (code) {
    case Code::kApply:
    case Code::kOrAnd:
    case Code::kCopy:
    case Code::kSplat:
    case Code::kLoad:
    case Code::kLookup:
    case Code::kIndex:
    case Code::kExtract:
    case Code::kShuffle:
      return true;
    case Code::kStore:
    case Code::kScatter:
    case Code::kInsert:
    case Code::kZero:
    case Code::kLoop:
    case Code::kEndLoop:
    case Code::kNote:
      return false;
  }
  return false;
}

// Whether memory may change, or another loop's code begin, at `inst`.
bool IsBarrier(const Inst& inst) {
  return WritesMemory(inst.code) || inst.code == Code::kLoop ||
         inst.code == Code::kEndLoop;
}

std::vector<int> CountUses(const Nest& nest) {
  std::vector<int> uses(nest.registers.size(), 0);
  for (const Inst& inst : nest.insts) {
    for (const Value& arg : inst.args) {
      if (arg.kind == Value::kReg) ++uses[arg.index];
    }
  }
  return uses;
}

void DropUnused(Nest& nest, std::vector<int>& uses) {
  for (size_t k = nest.insts.size(); k-- > 0;) {
    Inst& inst = nest.insts[k];
    if (!IsPureCode(inst.code) || nest.registers[inst.dst].is_variable ||
        uses[inst.dst] > 0) {
      continue;
    }
    for (const Value& arg : inst.args) {
      if (arg.kind == Value::kReg) --uses[arg.index];
    }
    inst = Nothing();
  }
}

bool CanFoldLoad(const Inst& load, Isa isa) {
  if (load.code != Code::kLoad || SizeOf(load.dtype) < 4) return false;
  if (load.memory.stride == 0 || load.lanes == 1) return isa == Isa::kAvx512;
  return load.valid == load.lanes &&
         load.memory.stride == static_cast<int>(SizeOf(load.dtype));
}

// Whether the first two operands may change places.
bool Swaps(const Inst& inst) {
  return inst.code == Code::kApply &&
         (inst.op == Op::kFma || (Info(inst.op).traits & kCommutative));
}

// Moves the load of `value` into operand k of `user`.
bool FoldInto(const Inst& load, Inst& user) {
  if (!Computes(user.code) || user.lanes != load.lanes) return false;
  const Value loaded{Value::kReg, load.dst};
  for (int tries = 0; tries < 2; ++tries) {
    for (int k = 0; k < 3; ++k) {
      if (user.args[k] != loaded || !CanBeMemory(user, k)) continue;
      user.args[k] = {Value::kMemory, -1};
      user.memory = load.memory;
      if (load.lanes == 1) user.memory.stride = 0;
      return true;
    }
    // The other way round, where that makes no difference.
    if (!Swaps(user) || user.args[0] != loaded ||
        user.args[1].kind != Value::kReg) {
      return false;
    }
    std::swap(user.args[0], user.args[1]);
  }
  return false;
}

void FoldAnds(Nest& nest) {
  const std::vector<int> uses = CountUses(nest);
  std::vector<Inst*> ands(nest.registers.size(), nullptr);
  auto is_variable = [&](const Value& value) {
    return value.kind == Value::kReg && nest.registers[value.index].is_variable;
  };
  auto is_and = [&](const Value& value, const Inst& user) {
    if (value.kind != Value::kReg || uses[value.index] != 1) return false;
    const Inst* inst = ands[value.index];
    return inst != nullptr && inst->dtype == user.dtype &&
           inst->lanes == user.lanes;
  };
  for (Inst& inst : nest.insts) {
    if (inst.code != Code::kApply || inst.operand == DType::kBool) continue;
    if (inst.op == Op::kAnd && !is_variable({Value::kReg, inst.dst}) &&
        !is_variable(inst.args[0]) && !is_variable(inst.args[1])) {
      ands[inst.dst] = &inst;
    }
    if (inst.op != Op::kOr || SizeOf(inst.dtype) < 4) continue;
    if (inst.args[1].kind != Value::kReg) continue;
    if (is_and(inst.args[0], inst)) std::swap(inst.args[0], inst.args[1]);
    if (!is_and(inst.args[1], inst)) continue;
    Inst& both = *ands[inst.args[1].index];
    inst.code = Code::kOrAnd;
    inst.args[1] = both.args[0];
    inst.args[2] = both.args[1];
    both = Nothing();
  }
}

// Finds steps of a minimum or maximum by what was loaded, each the only reader
// of the one before. Of two, the second tests both numbers for NaN: it takes
// that of the first from memory, as what waits in a register or is loaded out
// of order costs more.
class ExtremeFolder {
 public:
  explicit ExtremeFolder(Nest& nest) : nest_(nest), uses_(CountUses(nest)) {}

  void Run() && {
    for (Inst& inst : nest_.insts) {
      if (IsBarrier(inst)) {
        loads_.clear();
        steps_.clear();
      } else if (!IsExtreme(inst) || !TestsForStep(inst)) {
        Note(inst);
      }
    }
  }

  static bool IsExtreme(const Inst& inst) {
    return inst.code == Code::kApply && KeepsNan(inst.op);
  }

 private:
  // Whether `inst` goes on from a step, whose test it takes over.
  bool TestsForStep(Inst& inst) {
    const auto found = steps_.find(inst.args[0].index);
    if (found == steps_.end() || inst.args[1] == inst.args[0]) return false;
    Inst& step = *found->second;
    const bool is_variable = nest_.registers[step.dst].is_variable;
    if (step.op != inst.op || step.dtype != inst.dtype ||
        step.lanes != inst.lanes || (is_variable && inst.dst != step.dst)) {
      return false;
    }
    inst.args[2] = {Value::kMemory, -1};
    inst.memory = loads_.at(step.args[1].index)->memory;
    // A NaN in the second operand stays, and so does the first of equals.
    step.op = step.op == Op::kMinimum ? Op::kMin : Op::kMax;
    std::swap(step.args[0], step.args[1]);
    Forget(inst);
    return true;
  }

  // What `inst` reads or writes is no step for others.
  void Forget(const Inst& inst) {
    for (const Value& arg : inst.args) {
      if (arg.kind == Value::kReg) steps_.erase(arg.index);
    }
    steps_.erase(inst.dst);
  }

  void Note(Inst& inst) {
    Forget(inst);
    if (inst.dst < 0) return;
    const bool is_variable = nest_.registers[inst.dst].is_variable;
    if (!is_variable && CanFoldLoad(inst, Isa::kAvx2)) loads_[inst.dst] = &inst;
    if (IsExtreme(inst) && loads_.contains(inst.args[1].index) &&
        (is_variable || uses_[inst.dst] == 1)) {
      steps_[inst.dst] = &inst;
    }
  }

  Nest& nest_;
  const std::vector<int> uses_;
  // By the register that they give; since memory may have changed.
  absl::flat_hash_map<int32_t, const Inst*> loads_;
  absl::flat_hash_map<int32_t, Inst*> steps_;
};

void FoldExtremes(Nest& nest) {
  if (std::any_of(nest.insts.begin(), nest.insts.end(),
                  ExtremeFolder::IsExtreme)) {
    ExtremeFolder(nest).Run();
  }
}

// Which lanes of each register what follows may read, a bit each.
class LiveLanes {
 public:
  explicit LiveLanes(const Nest& nest)
      : nest_(nest), live_(nest.registers.size(), 0) {
    at_start_.resize(nest.loops.size(), live_);
  }

  // Calls `visit` with each instruction, the last one first, and the lanes that
  // are read after it: once what comes round in loops is known.
  void Walk(absl::FunctionRef<void(size_t, uint32_t lanes)> visit) {
    while (Pass([](size_t, uint32_t) {})) {
    }
    Pass(visit);
  }

 private:
  using Lanes = std::vector<uint32_t>;

  static uint32_t First(int lanes) { return (uint32_t{1} << lanes) - 1; }

  // Returns whether more comes round in some loop than was known.
  bool Pass(absl::FunctionRef<void(size_t, uint32_t)> visit) {
    bool is_more = false;
    std::fill(live_.begin(), live_.end(), 0);
    for (size_t k = nest_.insts.size(); k-- > 0;) {
      const Inst& inst = nest_.insts[k];
      if (inst.code == Code::kEndLoop) {
        Add(at_start_[inst.offset], live_);
      } else if (inst.code == Code::kLoop) {
        is_more = Add(live_, at_start_[inst.offset]) || is_more;
      } else {
        visit(k, inst.dst < 0 ? 0 : live_[inst.dst]);
        Step(inst);
      }
    }
    return is_more;
  }

  static bool Add(const Lanes& lanes, Lanes& to) {
    bool is_more = false;
    for (size_t k = 0; k < lanes.size(); ++k) {
      is_more = is_more || (lanes[k] & ~to[k]) != 0;
      to[k] |= lanes[k];
    }
    return is_more;
  }

  void Step(const Inst& inst) {
    uint32_t read = inst.code == Code::kShuffle ? ~uint32_t{0}
                    : inst.code == Code::kSplat ? 1
                                                : First(inst.lanes);
    if (inst.code == Code::kInsert) {
      const uint32_t written = First(inst.valid) << inst.offset;
      read = (live_[inst.dst] & written) >> inst.offset;
      live_[inst.dst] &= ~written;
    } else if (inst.dst >= 0) {
      const uint32_t wanted = live_[inst.dst] & First(inst.lanes);
      if (inst.code == Code::kExtract) read = wanted << inst.offset;
      if (Computes(inst.code) || inst.code == Code::kCopy) read = wanted;
      live_[inst.dst] = 0;
    }
    for (const Value& arg : inst.args) {
      if (arg.kind == Value::kReg) live_[arg.index] |= read;
    }
  }

  const Nest& nest_;
  Lanes live_;
  std::vector<Lanes> at_start_;  // by loop
};

// Lanes that are put where the others of the variable are dead become all of
// it: what halves a vector again and again merges nothing.
void FoldInserts(Nest& nest, const std::vector<int>& uses) {
  auto is_insert = [](const Inst& inst) {
    return inst.code == Code::kInsert && inst.offset == 0 &&
           inst.args[0].kind == Value::kReg;
  };
  if (std::none_of(nest.insts.begin(), nest.insts.end(), is_insert)) return;
  std::vector<size_t> folded;
  LiveLanes(nest).Walk([&](size_t k, uint32_t live) {
    const Inst& inst = nest.insts[k];
    const bool keeps_others = (live >> inst.valid) != 0;
    if (is_insert(inst) && !keeps_others) folded.push_back(k);
  });
  for (size_t k : folded) {
    Inst& insert = nest.insts[k];
    const int32_t value = insert.args[0].index;
    size_t before = k;
    while (before > 0 && nest.insts[before - 1].code == Code::kNote) --before;
    Inst* made = before > 0 ? &nest.insts[before - 1] : nullptr;
    if (made != nullptr && made->dst == value && IsPureCode(made->code) &&
        uses[value] == 1 && !nest.registers[value].is_variable) {
      made->dst = insert.dst;
      insert = Nothing();
    } else {
      insert.code = Code::kCopy;
      insert.lanes = nest.registers[value].lanes;
    }
  }
}

}  // namespace

bool CanBeMemory(const Inst& inst, int k) {
  if (SizeOf(inst.operand) < 4 || k == 0) return false;
  if (inst.code == Code::kOrAnd) return k == 2;
  switch (inst.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      return true;
    case Op::kMul:
    case Op::kDiv:
    case Op::kMin:
    case Op::kMax:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kEqual:
    case Op::kNotEqual:
      return IsFloat(inst.operand);
    case Op::kFma:
      return inst.args[3 - k].kind == Value::kReg;
    case Op::kMinimum:
    case Op::kMaximum:
      return k == 2 && inst.args[2].kind == Value::kConst;
    case Op::kSelect:
      return k == 1 && inst.args[2].kind == Value::kReg;
    default:
      return false;
  }
}

void OrderOperands(Inst& inst) {
  if (Swaps(inst) && inst.args[0].kind != Value::kReg &&
      inst.args[1].kind == Value::kReg) {
    std::swap(inst.args[0], inst.args[1]);
  }
}

void Fold(Nest& nest, Isa isa) {
  isa == Isa::kAvx512 ? FoldAnds(nest) : FoldExtremes(nest);
  std::vector<int> uses = CountUses(nest);
  DropUnused(nest, uses);
  FoldInserts(nest, uses);
  for (size_t k = 0; k < nest.insts.size(); ++k) {
    Inst& load = nest.insts[k];
    if (!CanFoldLoad(load, isa) || uses[load.dst] != 1) continue;
    if (nest.registers[load.dst].is_variable) continue;
    const Value loaded{Value::kReg, load.dst};
    for (size_t next = k + 1; next < nest.insts.size(); ++next) {
      Inst& user = nest.insts[next];
      if (IsBarrier(user)) break;
      if (std::find(user.args.begin(), user.args.end(), loaded) ==
          user.args.end()) {
        continue;
      }
      if (FoldInto(load, user)) load = Nothing();
      break;
    }
  }
}

}  // namespace ocannl::jit
