// SPDX-License-Identifier: Apache-2.0
//
// Isa: the instruction sets that machine code is made for, and the row of
// isas.def of each.
//
//   std::optional<Isa> isa = HostIsa();   // kAvx512, kAvx2, or none of both
#ifndef OCANNL_JIT_VCODE_ISA_H_
#define OCANNL_JIT_VCODE_ISA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl::jit {

enum class Isa : uint8_t {
#define ISA(name, ...) k##name,
#include "ocannl/jit/vcode/isas.def"
};

// The best one comes last.
inline constexpr Isa kIsas[] = {
#define ISA(name, ...) Isa::k##name,
#include "ocannl/jit/vcode/isas.def"
};

struct IsaInfo {
  absl::string_view name;  // "avx2"
  Target target;
  int masks;
  bool broadcast, ternary, fixup;
};

inline constexpr IsaInfo kIsaInfos[] = {
#define ISA(name, text, bytes, vectors, masks, broadcast, ternary, fixup, ...) \
  {text, {bytes, vectors}, masks, broadcast, ternary, fixup},
#include "ocannl/jit/vcode/isas.def"
};

constexpr const IsaInfo& Info(Isa isa) {
  return kIsaInfos[static_cast<size_t>(isa)];
}

constexpr absl::string_view Name(Isa isa) { return Info(isa).name; }

// "avx2 or avx512", where " or " is the separator.
std::string IsaNames(absl::string_view separator);

// Whether this machine has it.
bool IsSupported(Isa isa);

// The best that this machine has, if any.
std::optional<Isa> HostIsa();

// What it depends on of a processor.
constexpr const Target& TargetOf(Isa isa) { return Info(isa).target; }

// General registers that hold pointers and counters of loops, in each of them.
inline constexpr int32_t kNumPointerRegisters = 11;

// The bytes of the widest vector register.
constexpr int VectorBytes(Isa isa) { return TargetOf(isa).vector_bytes; }

// Whether bools are in mask registers, which say which lanes are written, too.
constexpr bool HasMasks(Isa isa) { return Info(isa).masks > 0; }

// Whether values of the type are in mask registers.
constexpr bool IsMask(DType dtype, Isa isa) {
  return dtype == DType::kBool && HasMasks(isa);
}

// The number of registers that hold vectors or masks. Of masks, k0 is not used.
constexpr int NumRegisters(bool masks, Isa isa) {
  return masks ? Info(isa).masks : TargetOf(isa).vector_registers;
}

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_ISA_H_
