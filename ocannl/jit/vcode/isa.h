// SPDX-License-Identifier: Apache-2.0
//
// Isa: the instruction sets that machine code is made for.
//
//   std::optional<Isa> isa = HostIsa();   // kAvx512, kAvx2, or none of both
#ifndef OCANNL_JIT_VCODE_ISA_H_
#define OCANNL_JIT_VCODE_ISA_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"

namespace ocannl::jit {

enum class Isa : uint8_t {
  kAvx2,    // with FMA and F16C: 16 registers of 32 bytes
  kAvx512,  // F, BW, DQ and VL: 32 registers of 64 bytes, 8 mask registers
};

absl::string_view Name(Isa isa);  // "avx2"

// Whether this machine has it.
bool IsSupported(Isa isa);

// The best that this machine has, if any.
std::optional<Isa> HostIsa();

// The bytes of the widest vector register.
int VectorBytes(Isa isa);

// Whether values of the type are in mask registers.
bool IsMask(DType dtype, Isa isa);

// The number of registers that hold vectors or masks. Of masks, k0 is not used.
int NumRegisters(bool masks, Isa isa);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_ISA_H_
