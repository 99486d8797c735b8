// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/verify.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/jit/vcode/operands.h"

namespace ocannl::jit {
namespace {

template <class T>
bool Has(const std::vector<T>& all, int64_t index) {
  return index >= 0 && index < static_cast<int64_t>(all.size());
}

// Every compilation verifies its nests: messages are texts that there are.
using Fault = const char*;  // null: none

class Verifier {
 public:
  Verifier(const Nest& nest, const std::vector<Inst>& insts)
      : nest_(nest),
        insts_(insts),
        is_defined_(nest.registers.size(), 0),
        begun_(nest.loops.size(), 0) {}

  absl::Status Run() {
    for (size_t at = 0; at < insts_.size(); ++at) {
      if (Fault fault = FaultOf(insts_[at])) {
        return absl::InternalError(
            absl::StrCat("instruction ", at, " of the nest: ", fault));
      }
    }
    return open_.empty() && !is_in_when_
               ? absl::OkStatus()
               : absl::InternalError("a loop or `when` has no end");
  }

 private:
  Fault FaultOf(const Inst& inst) {
    if (Fault fault = FaultOfField(inst)) return fault;
    if (Fault fault = FaultOfOperands(inst)) return fault;
    if (AccessesMemory(inst.opcode)) {
      if (Fault fault = FaultOfMemory(inst)) return fault;
    }
    if (inst.opcode == Opcode::kWhen || inst.opcode == Opcode::kEndWhen) {
      if (Fault fault = FaultOfWhen(inst.opcode)) return fault;
    }
    return FaultOfResult(inst);
  }

  Fault FaultOfWhen(Opcode opcode) {
    if (is_in_when_ == (opcode == Opcode::kWhen)) {
      return is_in_when_ ? "a `when` in another" : "it ends no `when`";
    }
    is_in_when_ = !is_in_when_;
    // It may not have run.
    for (VReg reg : made_in_when_) is_defined_[reg.index] = 0;
    made_in_when_.clear();
    return nullptr;
  }

  Fault FaultOfOperands(const Inst& inst) const {
    int count = 0;
    for (int k = 0; k < 3; ++k) {
      const Value& arg = inst.args[k];
      if (arg.kind == Value::kNone) continue;
      if (count++ < k) return "an operand before another one is missing";
      if (arg.kind == Value::kReg) {
        if (Fault fault = FaultOfUse(arg.reg())) return fault;
      } else if (arg.kind == Value::kConst) {
        if (!Has(nest_.constants, arg.index)) return "no such constant";
        if (!MayBeConstant(inst, k)) return "an operand cannot be a constant";
      } else {
        if (!CanBe(Value::kMemory, inst, k)) {
          return "an operand cannot be memory";
        }
        if (Fault fault = FaultOfMemory(inst)) return fault;
      }
    }
    if (count != NumOperands(inst)) {
      return "the number of operands is not that of its opcode";
    }
    if (!inst.mask.is_valid()) return nullptr;
    return ReadsLanes(nest_, inst, /*masks=*/true) ? FaultOfUse(inst.mask)
                                                   : "it has no mask";
  }

  bool MayBeConstant(const Inst& inst, int k) const {
    return CanBe(Value::kConst, inst, k) ||
           (RoleOf(inst, k) == OpcodeInfo::Role::kZero &&
            nest_.constants[inst.args[k].index].bits == 0);
  }

  Fault FaultOfUse(VReg reg) const {
    if (!Has(nest_.registers, reg.index)) return "no such register";
    return is_defined_[reg.index] ? nullptr
                                  : "a register is used before its definition";
  }

  Fault FaultOfMemory(const Inst& inst) const {
    if (!Has(nest_.pointers, inst.memory.pointer)) return "no such pointer";
    return inst.active_lanes > inst.lanes ? "memory has more lanes" : nullptr;
  }

  Fault FaultOfField(const Inst& inst) {
    using Field = OpcodeInfo::Field;
    const Field field = Info(inst.opcode).field;
    if (field == Field::kLookup && !Has(nest_.lookups, inst.lookup)) {
      return "no such lookup";
    }
    if (field == Field::kLine && !Has(nest_.source_lines, inst.line)) {
      return "no such line";
    }
    return field == Field::kLoop ? FaultOfLoop(inst) : nullptr;
  }

  Fault FaultOfLoop(const Inst& inst) {
    if (!Has(nest_.loops, inst.loop)) return "no such loop";
    if (is_in_when_) return "a `when` is of one basic block";
    if (inst.opcode == Opcode::kLoop) {
      if (begun_[inst.loop]) return "the loop begins twice";
      begun_[inst.loop] = 1;
      open_.push_back(inst.loop);
      return nullptr;
    }
    if (open_.empty() || open_.back() != inst.loop) {
      return "it ends another loop than the innermost";
    }
    open_.pop_back();
    return FaultOfIncrements(nest_.loops[inst.loop]);
  }

  Fault FaultOfIncrements(const Loop& loop) const {
    for (const PointerIncrement& increment : loop.increments) {
      if (!Has(nest_.pointers, increment.pointer)) return "no such pointer";
    }
    return nullptr;
  }

  Fault FaultOfResult(const Inst& inst) {
    const OpcodeInfo& info = Info(inst.opcode);
    if (inst.dst.is_valid() != (info.result != OpcodeInfo::Result::kNone)) {
      return inst.dst.is_valid() ? "it has no result" : "it needs a result";
    }
    if (!inst.dst.is_valid()) return nullptr;
    if (!Has(nest_.registers, inst.dst.index)) return "no such register";
    const Register& reg = nest_.registers[inst.dst.index];
    if (is_defined_[inst.dst.index] && !reg.is_mutable) {
      return "a register is defined twice";
    }
    if (is_in_when_ && !is_defined_[inst.dst.index]) {
      made_in_when_.push_back(inst.dst);
    }
    is_defined_[inst.dst.index] = 1;
    return CanDefine(inst, reg) ? nullptr
                                : "its lanes are not those of its register";
  }

  const Nest& nest_;
  const std::vector<Inst>& insts_;
  std::vector<char> is_defined_;
  std::vector<char> begun_;
  std::vector<int64_t> open_;  // loops, the innermost last
  bool is_in_when_ = false;
  std::vector<VReg> made_in_when_;  // first defined there
};

}  // namespace

absl::Status Verify(const Nest& nest) {
  absl::Status status = Verifier(nest, nest.insts).Run();
  if (nest.aligned.valid()) {
    status.Update(Verifier(nest, nest.otherwise).Run());
  }
  return status;
}

}  // namespace ocannl::jit
