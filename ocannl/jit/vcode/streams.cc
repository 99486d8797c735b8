// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/streams.h"

#include "ocannl/core/base/ndarray.h"

namespace ocannl::jit {
namespace {

// What no processor's share of the last cache holds. Stores around a cache that
// would have kept the lines are several times slower.
constexpr int64_t kCachedBytes = int64_t{32} << 20;

// Whether the place is always a multiple of `bytes`.
bool IsAligned(const Nest& nest, const Memory& memory, int64_t bytes) {
  const Affine& place = nest.pointers[memory.pointer].value;
  if ((place.offset() + memory.disp) % bytes != 0) return false;
  for (const Affine::Term& term : place.terms()) {
    if (term.factor % bytes != 0) return false;
  }
  return true;
}

}  // namespace

std::optional<int32_t> StreamedBuffer(const LoopProgram& program,
                                      const Nest& nest) {
  std::optional<int32_t> streamed;
  for (const Inst& inst : nest.insts) {
    if (inst.code != Code::kStore) continue;
    const int32_t base = nest.pointers[inst.memory.pointer].base;
    const Buffer& buffer = program.buffers[base];
    const auto size = static_cast<int64_t>(SizeOf(buffer.dtype));
    if (streamed && *streamed != base) return std::nullopt;
    if (NumElements(buffer.dims) * size < kCachedBytes) return std::nullopt;
    if (inst.lanes > 1 && inst.memory.stride != size) return std::nullopt;
    streamed = base;
    if (inst.lanes == 1 || inst.valid < inst.lanes) continue;  // a tail
    if (!IsAligned(nest, inst.memory, inst.lanes * size)) return std::nullopt;
  }
  for (const Inst& inst : nest.insts) {
    const bool touches = inst.memory.pointer >= 0 && inst.code != Code::kStore;
    if (touches && nest.pointers[inst.memory.pointer].base == streamed) {
      return std::nullopt;
    }
  }
  return streamed;
}

}  // namespace ocannl::jit
