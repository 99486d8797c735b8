// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/loop.h"

namespace ocannl {

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

}  // namespace ocannl
