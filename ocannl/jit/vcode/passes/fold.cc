// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/passes/fold.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "ocannl/jit/vcode/operands.h"
#include "ocannl/jit/vcode/passes/nest_editor.h"

namespace ocannl::jit {
namespace {

// Whether `inst` may change memory or ends a basic block.
bool IsBarrier(const Inst& inst) {
  return WritesMemory(inst.opcode) || IsLoopBoundary(inst.opcode);
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

void EliminateDeadCode(Nest& nest, std::vector<int>& uses) {
  for (size_t k = nest.insts.size(); k-- > 0;) {
    Inst& inst = nest.insts[k];
    if (!IsPure(inst.opcode) || nest.registers[inst.dst.index].is_mutable ||
        uses[inst.dst.index] > 0) {
      continue;
    }
    for (const Value& arg : inst.args) {
      if (arg.kind == Value::kReg) --uses[arg.index];
    }
    inst = Nop();
  }
}

bool CanFold(const Inst& load, bool broadcast) {
  if (load.opcode != Opcode::kLoad || SizeOf(load.dtype) < 4) return false;
  if (load.memory.stride == 0 || load.lanes == 1) return broadcast;
  return load.active_lanes == load.lanes && IsContiguous(load);
}

// Makes the loaded operand of `user` memory.
bool FoldInto(const Inst& load, Inst& user) {
  if (!Computes(user.opcode) || user.lanes != load.lanes) return false;
  const Value loaded = RegValue(load.dst);
  for (int tries = 0; tries < 2; ++tries) {
    for (int k = 0; k < 3; ++k) {
      if (user.args[k] != loaded || !CanBe(Value::kMemory, user, k)) continue;
      user.args[k] = {Value::kMemory, -1};
      user.memory = load.memory;
      if (load.lanes == 1) user.memory.stride = 0;
      return true;
    }
    if (!Commutes(user) || user.args[0] != loaded ||
        user.args[1].kind != Value::kReg) {
      return false;
    }
    std::swap(user.args[0], user.args[1]);
  }
  return false;
}

void FuseOrAnds(Nest& nest) {
  const std::vector<int> uses = CountUses(nest);
  std::vector<Inst*> ands(nest.registers.size(), nullptr);
  auto is_mutable = [&](const Value& value) {
    return value.kind == Value::kReg && nest.registers[value.index].is_mutable;
  };
  auto is_and = [&](const Value& value, const Inst& user) {
    if (value.kind != Value::kReg || uses[value.index] != 1) return false;
    const Inst* inst = ands[value.index];
    return inst != nullptr && inst->dtype == user.dtype &&
           inst->lanes == user.lanes;
  };
  for (Inst& inst : nest.insts) {
    if (inst.opcode != Opcode::kApply || inst.operand == DType::kBool) continue;
    if (inst.op == Op::kAnd && !is_mutable(RegValue(inst.dst)) &&
        !is_mutable(inst.args[0]) && !is_mutable(inst.args[1])) {
      ands[inst.dst.index] = &inst;
    }
    if (inst.op != Op::kOr || SizeOf(inst.dtype) < 4) continue;
    if (inst.args[1].kind != Value::kReg) continue;
    if (is_and(inst.args[0], inst)) std::swap(inst.args[0], inst.args[1]);
    if (!is_and(inst.args[1], inst)) continue;
    Inst& both = *ands[inst.args[1].index];
    inst.opcode = Opcode::kOrAnd;
    inst.args[1] = both.args[0];
    inst.args[2] = both.args[1];
    both = Nop();
  }
}

// The operand of an fma that is the result of one of `negations`, if any.
Value* NegatedOperand(Inst& inst, absl::Span<const Inst* const> negations) {
  if (inst.opcode != Opcode::kFma) return nullptr;
  for (Value& arg : inst.args) {
    if (arg.kind != Value::kReg) continue;
    const Inst* negation = negations[arg.index];
    if (negation != nullptr && negation->lanes == inst.lanes) return &arg;
  }
  return nullptr;
}

// Negations of which every use is an operand of an fma, and the only negated
// one of it.
void FuseNegations(Nest& nest) {
  auto is_mutable = [&](VReg reg) {
    return nest.registers[reg.index].is_mutable;
  };
  auto is_negation = [&](const Inst& inst) {
    return inst.opcode == Opcode::kApply && inst.op == Op::kXor &&
           IsFloat(inst.dtype) &&  // no other xor is of floats
           inst.args[0].kind == Value::kReg && !is_mutable(inst.dst) &&
           !is_mutable(inst.args[0].reg());
  };
  if (std::none_of(nest.insts.begin(), nest.insts.end(), is_negation)) return;
  std::vector<int> other_uses = CountUses(nest);
  std::vector<const Inst*> negations(nest.registers.size(), nullptr);  // by dst
  for (Inst& inst : nest.insts) {
    if (const Value* negated = NegatedOperand(inst, negations)) {
      --other_uses[negated->index];
    } else if (is_negation(inst)) {
      negations[inst.dst.index] = &inst;
    }
  }
  for (Inst& inst : nest.insts) {
    Value* negated = NegatedOperand(inst, negations);
    if (negated == nullptr || other_uses[negated->index] > 0) continue;
    inst.opcode = negated == &inst.args[2] ? Opcode::kFmsub : Opcode::kFnmadd;
    *negated = negations[negated->index]->args[0];
  }
}

// Finds reductions by minimum or maximum: chains of links whose term was
// loaded, each the only use of the one before. Of two links, the second tests
// both terms for NaN: it loads that of the first again, as a register that
// stays live or loads out of order cost more (`bazel run //experiments:bench --
// --filter=reduce/`).
class ExtremeFolder {
 public:
  explicit ExtremeFolder(Nest& nest)
      : nest_(nest), editor_(nest), uses_(CountUses(nest)) {}

  void Run() && {
    for (size_t k = 0; k < nest_.insts.size(); ++k) {
      Inst& inst = nest_.insts[k];
      if (IsBarrier(inst)) {
        loads_.clear();
        links_.clear();
      } else if (!IsExtreme(inst) || !TakesOverTest(k)) {
        Record(inst);
      }
    }
    editor_.Finish();
  }

  static bool IsExtreme(const Inst& inst) {
    return inst.opcode == Opcode::kApply && KeepsNan(inst.op);
  }

 private:
  // Whether instruction `at` goes on from a link, whose test it takes over.
  bool TakesOverTest(size_t at) {
    Inst& inst = nest_.insts[at];
    const auto found = links_.find(inst.args[0].reg());
    if (found == links_.end() || inst.args[1] == inst.args[0]) return false;
    Inst& link = *found->second;
    const bool is_mutable = nest_.registers[link.dst.index].is_mutable;
    if (link.op != inst.op || link.dtype != inst.dtype ||
        link.lanes != inst.lanes || (is_mutable && inst.dst != link.dst)) {
      return false;
    }
    const Memory term = loads_.at(link.args[1].reg())->memory;
    Forget(inst);
    TakeSecond(link);
    Inst test = inst;
    test.opcode = Opcode::kUnordered;
    test.dtype = SizeOf(inst.dtype) == 8 ? DType::kI64 : DType::kBool;
    test.args = {inst.args[1], {Value::kMemory, -1}};
    test.memory = term;
    const VReg is_nan = editor_.Define(at, test);
    TakeSecond(inst);
    inst.args = {RegValue(editor_.Define(at, inst)), RegValue(is_nan)};
    inst.op = Op::kOr;
    return true;
  }

  // A NaN in the second operand stays, and so does the first of equals.
  static void TakeSecond(Inst& extreme) {
    extreme.op = extreme.op == Op::kMinimum ? Op::kMin : Op::kMax;
    std::swap(extreme.args[0], extreme.args[1]);
  }

  // What `inst` reads or writes is no link for others.
  void Forget(const Inst& inst) {
    for (const Value& arg : inst.args) {
      if (arg.kind == Value::kReg) links_.erase(arg.reg());
    }
    links_.erase(inst.dst);
  }

  void Record(Inst& inst) {
    Forget(inst);
    if (!inst.dst.is_valid()) return;
    const bool is_mutable = nest_.registers[inst.dst.index].is_mutable;
    if (!is_mutable && CanFold(inst, /*broadcast=*/false))
      loads_[inst.dst] = &inst;
    if (IsExtreme(inst) && loads_.contains(inst.args[1].reg()) &&
        (is_mutable || uses_[inst.dst.index] == 1)) {
      links_[inst.dst] = &inst;
    }
  }

  Nest& nest_;
  NestEditor editor_;
  const std::vector<int> uses_;
  // By result; since memory may have changed.
  absl::flat_hash_map<VReg, const Inst*> loads_;
  absl::flat_hash_map<VReg, Inst*> links_;
};

void FoldExtremes(Nest& nest) {
  if (std::any_of(nest.insts.begin(), nest.insts.end(),
                  ExtremeFolder::IsExtreme)) {
    ExtremeFolder(nest).Run();
  }
}

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

// An insert into a register whose other lanes are dead becomes a copy, such as
// in a reduction that halves a vector again and again.
void FoldInserts(Nest& nest, const std::vector<int>& uses) {
  auto is_insert = [](const Inst& inst) {
    return inst.opcode == Opcode::kInsert && inst.lane == 0 &&
           inst.args[0].kind == Value::kReg;
  };
  if (std::none_of(nest.insts.begin(), nest.insts.end(), is_insert)) return;
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

}  // namespace

void Fold(Nest& nest, Isa isa) {
  const IsaInfo& has = Info(isa);
  if (has.ternary) FuseOrAnds(nest);
  if (!has.fixup) FoldExtremes(nest);
  FuseNegations(nest);
  std::vector<int> uses = CountUses(nest);
  EliminateDeadCode(nest, uses);
  FoldInserts(nest, uses);
  for (size_t k = 0; k < nest.insts.size(); ++k) {
    Inst& load = nest.insts[k];
    if (!CanFold(load, has.broadcast) || uses[load.dst.index] != 1) continue;
    if (nest.registers[load.dst.index].is_mutable) continue;
    const Value loaded = RegValue(load.dst);
    for (size_t next = k + 1; next < nest.insts.size(); ++next) {
      Inst& user = nest.insts[next];
      if (IsBarrier(user)) break;
      if (std::find(user.args.begin(), user.args.end(), loaded) ==
          user.args.end()) {
        continue;
      }
      if (FoldInto(load, user)) load = Nop();
      break;
    }
  }
}

}  // namespace ocannl::jit
