// SPDX-License-Identifier: Apache-2.0
//
// Calls of runtime helpers (helpers.h). All go through one stub, which saves
// the registers.
#include <array>

#include "ocannl/core/base/check.h"
#include "ocannl/jit/emit/emitter.h"
#include "ocannl/jit/emit/helpers.h"

namespace ocannl::jit {

namespace x86 = asmjit::x86;

// Calls a runtime helper; the operands are passed in the frame. No bool is
// among them, nor the result.
void Emitter::EmitHelperCall(const Inst& inst) {
  x86::Assembler& a = assembler_;
  CHECK(inst.dtype != DType::kBool) << Info(inst.op).name;
  const int arity = Info(inst.op).arity;
  auto slot = [&](int k) { return OperandSlot(k * kHelperOperandBytes); };
  for (int k = 0; k < arity; ++k) {
    a.vmovups(slot(k), In(inst, k, BytesOf(inst.operand, inst.lanes)));
  }
  a.mov(x86::eax, HelperNumber(inst.op, inst.dtype, inst.operand));
  a.lea(x86::rdx, slot(0));
  a.mov(x86::ecx, inst.lanes);
  a.call(stub_label_);
  uses_stub_ = true;
  a.vmovups(Out(inst), slot(3));
}

// Runs helper eax with ecx lanes at rdx; keeps every other register.
bool Emitter::EmitStub() {
  if (!uses_stub_) return false;
  x86::Assembler& a = assembler_;
  const int vectors = NumRegisters(/*masks=*/false, isa_);
  const int masks = NumRegisters(/*masks=*/true, isa_);
  const int bytes = VectorBytes(isa_);
  const int32_t masks_at = vectors * bytes;
  const std::array<Gp, 6> saved = {x86::rdi, x86::rsi, x86::r8,
                                   x86::r9,  x86::r10, x86::r11};
  a.bind(stub_label_);
  RecordFrame(DebugRows::Base::kRsp, 0);
  a.push(x86::rbx);
  RecordFrame(DebugRows::Base::kRsp, 1);
  a.mov(x86::rbx, x86::rsp);
  a.push(saved[0]);
  RecordFrame(DebugRows::Base::kRbx, 1);
  for (size_t k = 1; k < saved.size(); ++k) a.push(saved[k]);
  a.sub(x86::rsp, masks_at + 64);
  a.and_(x86::rsp, -64);
  for (int k = 0; k < vectors; ++k) {
    a.vmovups(x86::ptr(x86::rsp, k * bytes), VecOf(k, bytes));
  }
  for (int k = 1; k < masks; ++k) {
    a.kmovw(x86::ptr(x86::rsp, masks_at + 8 * k), x86::k(k));
  }
  a.mov(x86::rdi, x86::rdx);
  a.mov(x86::esi, x86::ecx);
  a.mov(x86::edx, x86::eax);
  a.vzeroupper();
  a.call(x86::ptr(run_helper_));
  for (int k = 0; k < vectors; ++k) {
    a.vmovups(VecOf(k, bytes), x86::ptr(x86::rsp, k * bytes));
  }
  for (int k = 1; k < masks; ++k) {
    a.kmovw(x86::k(k), x86::ptr(x86::rsp, masks_at + 8 * k));
  }
  a.lea(x86::rsp, x86::ptr(x86::rbx, -8 * static_cast<int>(saved.size())));
  for (size_t k = saved.size(); k-- > 0;) a.pop(saved[k]);
  a.pop(x86::rbx);
  RecordFrame(DebugRows::Base::kRsp, 0);
  a.ret();
  return true;
}

}  // namespace ocannl::jit
