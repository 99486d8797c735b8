// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/text/print.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/ops/print.h"

namespace ocannl::jit {
namespace {

class Printer {
 public:
  Printer(const LoopProgram& program, const Nest& nest)
      : program_(program), nest_(nest) {}

  std::string Run() && {
    for (size_t k = 0; k < nest_.pointers.size(); ++k) PrintPointer(k);
    for (size_t k = 0; k < nest_.registers.size(); ++k) {
      const Register& reg = nest_.registers[k];
      if (reg.is_mutable) Line("v", k, " : ", TypeText(reg.dtype, reg.lanes));
    }
    if (!nest_.aligned.valid()) {
      PrintInsts(nest_.insts);
      return std::move(text_);
    }
    Line("if &", program_.buffers[nest_.aligned].name, " is aligned");
    PrintInsts(nest_.insts);
    Line("else");
    PrintInsts(nest_.otherwise);
    return std::move(text_);
  }

 private:
  static bool Begins(Opcode opcode) {
    return opcode == Opcode::kLoop || opcode == Opcode::kWhen;
  }
  static bool Ends(Opcode opcode) {
    return opcode == Opcode::kEndLoop || opcode == Opcode::kEndWhen;
  }

  void PrintInsts(const std::vector<Inst>& insts) {
    for (const Inst& inst : insts) {
      if (inst.opcode == Opcode::kNop) continue;
      if (Ends(inst.opcode)) --depth_;
      Line(InstText(inst));
      if (Begins(inst.opcode)) ++depth_;
    }
  }

  template <class... Parts>
  void Line(const Parts&... parts) {
    absl::StrAppend(&text_, std::string(2 * depth_, ' '), parts..., "\n");
  }

  void PrintPointer(size_t number) {
    const Pointer& pointer = nest_.pointers[number];
    std::string value = PrintIndex(program_, pointer.value);
    if (pointer.base != Pointer::kNumber) {
      const std::string& name = program_.buffers[pointer.base].name;
      value = absl::StrCat("&", name, value == "0" ? "" : " + " + value);
    }
    Line("p", number, " = ", value, ", uses ",
         absl::StrFormat("%.17g", pointer.frequency));
  }

  std::string RegisterText(VReg reg) const {
    return absl::StrCat(nest_.registers[reg.index].is_mutable ? "v" : "r",
                        reg.index);
  }

  std::string MemoryText(const Inst& inst) const {
    const Memory& memory = inst.memory;
    std::string text = absl::StrCat("[p", memory.pointer);
    if (memory.disp != 0) absl::StrAppend(&text, " + ", memory.disp);
    if (memory.stride != ContiguousStride(inst)) {
      absl::StrAppend(&text, ", stride ", memory.stride);
    }
    return text + "]";
  }

  std::string ValueText(const Inst& inst, const Value& value) const {
    switch (value.kind) {
      case Value::kNone:
        return "";
      case Value::kReg:
        return RegisterText(value.reg());
      case Value::kConst:
        return PrintConstant(nest_.constants[value.index]);
      case Value::kMemory:
        return MemoryText(inst);
    }
    return "";
  }

  // "f32x16"
  static std::string TypeText(DType dtype, int lanes) {
    return absl::StrCat(Name(dtype), lanes > 1 ? absl::StrCat("x", lanes) : "");
  }

  // What stands behind the operands.
  std::string FieldText(const Inst& inst) const {
    switch (Info(inst.opcode).field) {
      case OpcodeInfo::Field::kLane:
        return absl::StrCat(" at ", inst.lane);
      case OpcodeInfo::Field::kSelector:
        return absl::StrCat(" ", kShuffleNames[static_cast<int>(inst.shuffle)],
                            " ", inst.selector);
      case OpcodeInfo::Field::kBytes:
        return absl::StrCat(" bytes ", inst.bytes);
      case OpcodeInfo::Field::kLookup: {
        const RowLookup& rows = nest_.lookups[inst.lookup];
        return absl::StrCat(" rows ", rows.size, " by ", rows.stride,
                            rows.is_uniform ? " uniform" : "");
      }
      default:
        return "";
    }
  }

  std::string LoopText(const Inst& inst) const {
    const Loop& loop = nest_.loops[inst.loop];
    return absl::StrCat(loop.is_parallel ? "par " : "loop ",
                        Name(loop.iterator), " = 0 to ", loop.extent - 1);
  }

  std::string EndLoopText(const Inst& inst) const {
    const Loop& loop = nest_.loops[inst.loop];
    return absl::StrCat(
        "end ", Name(loop.iterator), loop.increments.empty() ? "" : ": ",
        absl::StrJoin(loop.increments, ", ",
                      [](std::string* out, const PointerIncrement& increment) {
                        absl::StrAppend(out, "p", increment.pointer,
                                        " += ", increment.bytes);
                      }));
  }

  // "r2 = add f32x16 first 12 r0, [p1]"
  std::string InstText(const Inst& inst) const {
    if (inst.opcode == Opcode::kSourceLoc) {
      return absl::StrCat("; ", nest_.source_lines[inst.line].text);
    }
    if (inst.opcode == Opcode::kFence || inst.opcode == Opcode::kEndWhen) {
      return NameOf(inst);
    }
    if (inst.opcode == Opcode::kLoop) return LoopText(inst);
    if (inst.opcode == Opcode::kEndLoop) return EndLoopText(inst);
    std::string text;
    if (inst.dst.is_valid()) text = RegisterText(inst.dst) + " = ";
    absl::StrAppend(&text, NameOf(inst), " ", TypeText(inst.dtype, inst.lanes));
    if (inst.operand != inst.dtype) {
      absl::StrAppend(&text, " of ", Name(inst.operand));
    }
    if (inst.active_lanes < inst.lanes) {
      absl::StrAppend(&text, " first ", inst.active_lanes);
    }
    absl::string_view separator = " ";
    if (AccessesMemory(inst.opcode)) {
      absl::StrAppend(&text, separator, MemoryText(inst));
      separator = ", ";
    }
    for (const Value& arg : inst.args) {
      if (arg.kind == Value::kNone) continue;
      absl::StrAppend(&text, separator, ValueText(inst, arg));
      separator = ", ";
    }
    if (inst.mask.is_valid()) {
      absl::StrAppend(&text, " mask ", RegisterText(inst.mask));
    }
    return text + FieldText(inst);
  }

  const LoopProgram& program_;
  const Nest& nest_;
  std::string text_;
  int depth_ = 0;
};

}  // namespace

std::string NameOf(const Inst& inst) {
  return inst.opcode == Opcode::kApply
             ? absl::AsciiStrToLower(Info(inst.op).name)
             : std::string(Info(inst.opcode).text);
}

int ContiguousStride(const Inst& inst) {
  if (inst.lanes == 1 || inst.opcode == Opcode::kIndex) return 0;
  const bool computes = Computes(inst.opcode);
  return static_cast<int>(SizeOf(computes ? inst.operand : inst.dtype));
}

std::string Print(const LoopProgram& program, const Nest& nest) {
  return Printer(program, nest).Run();
}

}  // namespace ocannl::jit
