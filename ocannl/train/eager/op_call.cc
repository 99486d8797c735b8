// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/eager/op_call.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ocannl::train {

Operand Flat(const Shaped& x) {
  Shape flat;
  flat[RowKind::kOutput] = x.shape.dims();
  return {flat == x.shape ? x.tensor : Reshape(x.tensor, flat), x.shape.dims()};
}

Signature SignatureOf(const OpCall& call) {
  if (call.operands.size() > 3) return {};
  Signature signature = {.op = call.op};
  for (size_t k = 0; k < call.operands.size(); ++k) {
    signature.slots |= uint64_t{call.operands[k]} << (kSlotBits * k);
  }
  return signature;
}

bool SameCall(const OpCall& a, const OpCall& b) {
  return a.op == b.op && a.operands == b.operands && a.trains == b.trains &&
         a.op->same(a.args.get(), b.args.get());
}

std::string ToString(const OpCall& call) {
  std::string args;
  call.op->print(call.args.get(), &args);
  auto operand = [](std::string* out, uint32_t slot) {
    absl::StrAppend(out, "%", slot);
  };
  const std::string operands = absl::StrJoin(call.operands, ", ", operand);
  return absl::StrCat(call.op->name, "(", operands,
                      operands.empty() || args.empty() ? "" : "; ", args, ")");
}

}  // namespace ocannl::train
