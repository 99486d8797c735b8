// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "ocannl/jit/vcode/liveness.h"
#include "ocannl/jit/vcode/operands.h"
#include "ocannl/jit/vcode/passes/nest_editor.h"
#include "ocannl/jit/vcode/passes/passes.h"

namespace ocannl::jit {
namespace {

// Finds reductions by minimum or maximum: chains of links whose term was
// loaded, each the only use of the one before. Of two links, the second tests
// both terms for NaN: it loads that of the first again, as a register that
// stays live or loads out of order cost more (`bazel run //experiments:bench --
// --filter=reduce/`).
class ExtremePairing {
 public:
  explicit ExtremePairing(Nest& nest)
      : nest_(nest), editor_(nest), uses_(CountUses(nest)) {}

  void Run() && {
    for (size_t k = 0; k < nest_.insts.size(); ++k) {
      Inst& inst = nest_.insts[k];
      if (IsBarrier(inst.opcode)) {
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

}  // namespace

void PairExtremes(Nest& nest, Isa isa) {
  if (!Info(isa).fixup &&
      absl::c_any_of(nest.insts, ExtremePairing::IsExtreme)) {
    ExtremePairing(nest).Run();
  }
}

}  // namespace ocannl::jit
