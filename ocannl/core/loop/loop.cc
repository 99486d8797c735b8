// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/loop.h"

#include <optional>
#include <utility>

namespace ocannl {
namespace loop_ir {

Stmt::Stmt(const Stmt&) = default;
Stmt::Stmt(Stmt&&) noexcept = default;
Stmt& Stmt::operator=(const Stmt&) = default;
Stmt& Stmt::operator=(Stmt&&) noexcept = default;
Stmt::~Stmt() = default;

bool operator==(const Block& a, const Block& b) { return a.stmts == b.stmts; }

}  // namespace loop_ir

LoopProgram::LoopProgram() = default;
LoopProgram::LoopProgram(const LoopProgram&) = default;
LoopProgram::LoopProgram(LoopProgram&&) noexcept = default;
LoopProgram& LoopProgram::operator=(const LoopProgram&) = default;
LoopProgram& LoopProgram::operator=(LoopProgram&&) noexcept = default;
LoopProgram::~LoopProgram() = default;

template class InternPool<LeafId, LeafValue>;

Expr LoopProgram::Read(LeafValue value) {
  DType dtype = DType::kI64;
  if (const Access* access = std::get_if<Access>(&value)) {
    dtype = buffers[access->buffer].dtype;
  } else if (const Lookup* lookup = std::get_if<Lookup>(&value)) {
    dtype = buffers[lookup->cell.buffer].dtype;
  } else if (const GetLocal* get = std::get_if<GetLocal>(&value)) {
    dtype = locals[get->local].dtype;
  }
  return MakeLeaf(exprs, dtype, leaves.Add(std::move(value)).index);
}

BufferId LoopProgram::FindBuffer(absl::string_view buffer) {
  names.Update(buffers, locals, statics);
  const std::optional<size_t> number = names.Find(0, buffer);
  return number ? BufferId{static_cast<int32_t>(*number)} : BufferId();
}

std::string LoopProgram::UnusedName(const std::string& base) {
  names.Update(buffers, locals, statics);
  return names.Unused(base);
}

}  // namespace ocannl
