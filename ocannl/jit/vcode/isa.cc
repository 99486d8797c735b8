// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/isa.h"

#include "asmjit/asmjit.h"

namespace ocannl::jit {

absl::string_view Name(Isa isa) {
  return isa == Isa::kAvx2 ? "avx2" : "avx512";
}

bool IsSupported(Isa isa) {
  const auto& has = asmjit::CpuInfo::host().features().x86();
  if (!has.hasAVX2() || !has.hasFMA() || !has.hasF16C()) return false;
  if (isa == Isa::kAvx2) return true;
  return has.hasAVX512_F() && has.hasAVX512_BW() && has.hasAVX512_DQ() &&
         has.hasAVX512_VL();
}

std::optional<Isa> HostIsa() {
  if (IsSupported(Isa::kAvx512)) return Isa::kAvx512;
  if (IsSupported(Isa::kAvx2)) return Isa::kAvx2;
  return std::nullopt;
}

int VectorBytes(Isa isa) { return isa == Isa::kAvx2 ? 32 : 64; }

bool IsMask(DType dtype, Isa isa) {
  return dtype == DType::kBool && isa == Isa::kAvx512;
}

int NumRegisters(bool masks, Isa isa) {
  if (masks) return isa == Isa::kAvx512 ? 8 : 0;
  return isa == Isa::kAvx512 ? 32 : 16;
}

}  // namespace ocannl::jit
