// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/isa.h"

#include <initializer_list>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "asmjit/asmjit.h"

namespace ocannl::jit {

std::string IsaNames(absl::string_view separator) {
  return absl::StrJoin(kIsas, separator, [](std::string* text, Isa isa) {
    absl::StrAppend(text, Name(isa));
  });
}

bool IsSupported(Isa isa) {
  using enum asmjit::CpuFeatures::X86::Id;
  static constexpr std::initializer_list<uint32_t> kFeatures[] = {
#define ISA(name, text, bytes, vectors, masks, broadcast, ternary, fixup, ...) \
  {__VA_ARGS__},
#include "ocannl/jit/vcode/isas.def"
  };
  const auto& host = asmjit::CpuInfo::host().features();
  return absl::c_all_of(kFeatures[static_cast<size_t>(isa)],
                        [&](uint32_t feature) { return host.has(feature); });
}

std::optional<Isa> HostIsa() {
  std::optional<Isa> best;
  for (Isa isa : kIsas) {
    if (IsSupported(isa)) best = isa;
  }
  return best;
}

}  // namespace ocannl::jit
