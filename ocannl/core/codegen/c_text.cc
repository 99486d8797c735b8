// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/codegen/c_text.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/codegen/c_expression.h"
#include "ocannl/core/codegen/c_writer.h"

namespace ocannl {

std::string CText(LoopProgram program) {
  CWriter writer(std::move(program), CDialect::kC);
  const auto& buffers = writer.program().buffers;
  for (BufferId id : buffers.ids()) {
    if (!IsScratch(buffers[id].role)) continue;
    writer.Line("static ", CType(buffers[id].dtype), " b", id.index, "[",
                NumElements(buffers[id].dims),
                "] __attribute__((aligned(64)));");
  }
  writer.Open("void run(char* const* buffers, const int64_t* statics) ");
  for (BufferId id : buffers.ids()) {
    const Buffer& buffer = buffers[id];
    if (IsScratch(buffer.role)) continue;
    const std::string type = absl::StrCat(
        buffer.role == Role::kIn ? "const " : "", CType(buffer.dtype), "*");
    writer.Line(type, " restrict b", id.index, " = (", type,
                ")__builtin_assume_aligned(buffers[", id.index, "], 64);");
  }
  for (size_t k = 0; k < writer.program().statics.size(); ++k) {
    writer.Line("const i64_t s", k, " = statics[", k, "];");
  }
  writer.WriteBlock(writer.program().body);
  writer.Close();
  return WithPrelude(CDialect::kC, writer.Take());
}

}  // namespace ocannl
