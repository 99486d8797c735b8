// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/print.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/ops/print.h"

namespace ocannl::jit {
namespace {

absl::string_view Name(ShuffleKind kind) {
  switch (kind) {
    case ShuffleKind::kLow32:
      return "low32";
    case ShuffleKind::kHigh32:
      return "high32";
    case ShuffleKind::kLow64:
      return "low64";
    case ShuffleKind::kHigh64:
      return "high64";
    case ShuffleKind::kBlocks256:
      return "blocks256";
    case ShuffleKind::kBlocks512:
      return "blocks512";
  }
  return "";
}

class Printer {
 public:
  Printer(const LoopProgram& program, const Nest& nest)
      : program_(program), nest_(nest) {}

  std::string Run() && {
    for (size_t k = 0; k < nest_.pointers.size(); ++k) PrintPointer(k);
    for (const Inst& inst : nest_.insts) {
      if (inst.opcode == Opcode::kSourceLoc) {
        if (inst.offset >= 0) Line("; ", nest_.source_lines[inst.offset].text);
        continue;
      }
      if (inst.opcode == Opcode::kEndLoop) --depth_;
      Line(InstText(inst));
      if (inst.opcode == Opcode::kLoop) ++depth_;
    }
    return std::move(text_);
  }

 private:
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
    Line("p", number, " = ", value);
  }

  std::string RegisterText(VReg reg) const {
    return absl::StrCat(nest_.registers[reg.index].is_mutable ? "v" : "r",
                        reg.index);
  }

  std::string ConstantText(const Constant& constant) const {
    // Bits that are no number: of a mask, or a table.
    if (IsFloat(constant.dtype) && std::isnan(ToDouble(constant))) {
      return absl::StrFormat("0x%x", constant.bits);
    }
    return PrintConstant(constant);
  }

  std::string MemoryText(const Inst& inst) const {
    const Memory& memory = inst.memory;
    std::string text = absl::StrCat("[p", memory.pointer);
    if (memory.disp != 0) absl::StrAppend(&text, " + ", memory.disp);
    const bool is_contiguous =
        memory.stride == static_cast<int>(SizeOf(inst.dtype)) &&
        inst.opcode != Opcode::kIndex;
    if (inst.lanes > 1 && !is_contiguous) {
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
        return ConstantText(nest_.constants[value.index]);
      case Value::kMemory:
        return MemoryText(inst);
    }
    return "";
  }

  // "f32x16 first 12"
  std::string TypeText(const Inst& inst) const {
    std::string text(ocannl::Name(inst.dtype));
    if (inst.lanes > 1) absl::StrAppend(&text, "x", inst.lanes);
    if (inst.active_lanes < inst.lanes) {
      absl::StrAppend(&text, " first ", inst.active_lanes);
    }
    return text;
  }

  // "add f32x16 r0, [p1]"
  std::string OperationText(const Inst& inst, absl::string_view name) const {
    std::string text = absl::StrCat(name, " ", TypeText(inst));
    if (inst.opcode == Opcode::kApply && inst.operand != inst.dtype) {
      absl::StrAppend(&text, " of ", ocannl::Name(inst.operand));
    }
    absl::string_view separator = " ";
    for (const Value& arg : inst.args) {
      if (arg.kind == Value::kNone) continue;
      absl::StrAppend(&text, separator, ValueText(inst, arg));
      separator = ", ";
    }
    return text;
  }

  std::string RowsText(const Inst& inst, const Value& rows) const {
    const RowLookup& lookup = nest_.lookups[inst.offset];
    return absl::StrCat(", rows ", ocannl::Name(inst.operand), " ",
                        ValueText(inst, rows), " of ", lookup.size, " by ",
                        lookup.stride, lookup.is_uniform ? ", uniform" : "");
  }

  std::string LoopText(const Inst& inst) const {
    const Loop& loop = nest_.loops[inst.offset];
    return absl::StrCat(loop.is_parallel ? "par " : "loop ",
                        ocannl::Name(loop.iterator), " = 0 to ",
                        loop.extent - 1);
  }

  std::string EndLoopText(const Inst& inst) const {
    const Loop& loop = nest_.loops[inst.offset];
    return absl::StrCat(
        "end ", ocannl::Name(loop.iterator),
        loop.increments.empty() ? "" : ": ",
        absl::StrJoin(loop.increments, ", ",
                      [](std::string* out, const PointerIncrement& increment) {
                        absl::StrAppend(out, "p", increment.pointer,
                                        " += ", increment.bytes);
                      }));
  }

  // What stands behind "r0 = ", or the whole instruction.
  std::string RightText(const Inst& inst) const {
    switch (inst.opcode) {
      case Opcode::kApply:
        return OperationText(inst, absl::AsciiStrToLower(Info(inst.op).name));
      case Opcode::kOrAnd:
        return OperationText(inst, "or_and");
      case Opcode::kCopy:
        return OperationText(inst, "copy");
      case Opcode::kSplat:
        return OperationText(inst, "splat");
      case Opcode::kExtract:
        return absl::StrCat(OperationText(inst, "extract"), " from ",
                            inst.offset);
      case Opcode::kInsert:
        return absl::StrCat(OperationText(inst, "insert"), " at ", inst.offset);
      case Opcode::kShuffle:
        return absl::StrCat(OperationText(inst, "shuffle"), " ",
                            Name(inst.shuffle), " ", inst.offset);
      case Opcode::kLoad:
        return absl::StrCat("load ", TypeText(inst), " ", MemoryText(inst));
      case Opcode::kIndex:
        return absl::StrCat("index ", TypeText(inst), " ", MemoryText(inst));
      case Opcode::kLookup:
        return absl::StrCat("lookup ", TypeText(inst), " ", MemoryText(inst),
                            RowsText(inst, inst.args[0]));
      case Opcode::kStore:
        return absl::StrCat("store ", TypeText(inst), " ", MemoryText(inst),
                            ", ", ValueText(inst, inst.args[0]));
      case Opcode::kScatter:
        return absl::StrCat("scatter ", TypeText(inst), " ", MemoryText(inst),
                            ", ", ValueText(inst, inst.args[0]),
                            RowsText(inst, inst.args[1]));
      case Opcode::kMemset:
        return absl::StrCat("memset ", MemoryText(inst), " ", inst.offset,
                            " bytes");
      case Opcode::kLoop:
        return LoopText(inst);
      case Opcode::kEndLoop:
        return EndLoopText(inst);
      case Opcode::kSourceLoc:
        return "";
    }
    return "";
  }

  std::string InstText(const Inst& inst) const {
    const std::string right = RightText(inst);
    return inst.dst.is_valid()
               ? absl::StrCat(RegisterText(inst.dst), " = ", right)
               : right;
  }

  const LoopProgram& program_;
  const Nest& nest_;
  std::string text_;
  int depth_ = 0;
};

}  // namespace

std::string Print(const LoopProgram& program, const Nest& nest) {
  return Printer(program, nest).Run();
}

}  // namespace ocannl::jit
