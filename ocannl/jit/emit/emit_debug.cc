// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/emit/emitter.h"

namespace ocannl::jit {

void Emitter::RecordLine(int64_t line) {
  const auto begin = static_cast<int64_t>(assembler_.offset());
  std::vector<DebugRows::Line>& lines = rows_->lines;
  if (!lines.empty() && lines.back().begin == begin) lines.pop_back();
  if (lines.empty() || lines.back().line != line) {
    lines.push_back({.begin = begin, .line = line});
  }
}

// The line that the code from `inst` on comes from, if that says so.
bool Emitter::RecordLineOf(const Inst& inst) {
  switch (inst.opcode) {
    case Opcode::kSourceLoc:
      RecordLine(rows_->line_of.at(code_->source_lines[inst.line].stmt));
      return true;
    case Opcode::kLoop:
    case Opcode::kEndLoop:
      RecordLine(rows_->line_of_loop.at(nest_->loops[inst.loop].iterator));
      return true;
    default:
      return false;
  }
}

// What comes before the first of the nest's lines is of that, too.
void Emitter::RecordFirstLine() {
  for (const Inst& inst : code_->insts) {
    if (RecordLineOf(inst)) return;
  }
}

void Emitter::RecordFrame(DebugRows::Base base, int32_t pushed) {
  if (rows_ == nullptr) return;
  rows_->frames.push_back({.begin = static_cast<int64_t>(assembler_.offset()),
                           .base = base,
                           .pushed = pushed});
}

}  // namespace ocannl::jit
