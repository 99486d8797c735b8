// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/jit/emit/emitter.h"

namespace ocannl::jit {
namespace {

std::string LocationText(const asmjit::x86::Gp& reg, int32_t slot) {
  if (slot >= 0) return absl::StrCat("[rsp+", slot, "]");
  asmjit::String name;
  asmjit::Formatter::formatOperand(name, asmjit::FormatFlags::kNone, nullptr,
                                   asmjit::Arch::kX64, reg);
  return name.data();
}

}  // namespace

void Emitter::Comment(const std::string& text) {
  const std::string line = absl::StrCat("; ", text);
  assembler_.comment(line.data(), line.size());
}

void Emitter::CommentPointers() {
  source_loc_ = commented_ = -1;
  for (size_t k = 0; k < nest_->pointers.size(); ++k) {
    const Pointer& pointer = nest_->pointers[k];
    const PointerLocation& location = pointer_locations_[k];
    std::string value = PrintIndex(program_, pointer.value);
    if (pointer.base != Pointer::kNumber) {
      const std::string& name = program_.buffers[pointer.base].name;
      value = absl::StrCat("&", name, value == "0" ? "" : " + " + value);
    }
    Comment(
        absl::StrCat(LocationText(location.reg, location.slot), " = ", value));
  }
}

// The line of the program that `inst` comes from, where it is another one than
// that of the instruction before.
void Emitter::CommentInst(const Inst& inst) {
  if (inst.opcode == Opcode::kNop) return;
  if (inst.opcode == Opcode::kSourceLoc) {
    source_loc_ = inst.line;
  } else if (IsLoopBoundary(inst.opcode)) {
    source_loc_ = commented_ = -1;
    if (inst.opcode == Opcode::kLoop) CommentLoop(inst);
  } else if (source_loc_ != commented_) {
    Comment(code_->source_lines[source_loc_].text);
    commented_ = source_loc_;
  }
}

void Emitter::CommentLoop(const Inst& inst) {
  const Loop& loop = nest_->loops[inst.loop];
  const PointerLocation& counter = counter_locations_[inst.loop];
  const std::string register_name = LocationText(counter.reg, counter.slot);
  Comment(absl::StrCat(loop.is_parallel ? "par " : "for ", Name(loop.iterator),
                       " = ", loop.is_parallel ? "lo to hi - 1, of " : "",
                       "0 to ", loop.extent - 1, ": ", register_name,
                       " counts down"));
}

}  // namespace ocannl::jit
