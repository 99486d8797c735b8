// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/non_temporal.h"

#include "ocannl/core/base/ndarray.h"

namespace ocannl::jit {
namespace {

// More than any core's share of L3. Where a cache would have kept the lines,
// non-temporal stores are several times slower; `bazel run //experiments:bench
// -- --filter=map/` compares maps in L2 and in memory.
constexpr int64_t kMinNonTemporalBytes = int64_t{32} << 20;

// Whether the offset is always a multiple of `bytes`.
bool IsAligned(const Nest& nest, const Memory& memory, int64_t bytes) {
  const Affine& offset = nest.pointers[memory.pointer].value;
  if ((offset.offset() + memory.disp) % bytes != 0) return false;
  for (const Affine::Term& term : offset.terms()) {
    if (term.factor % bytes != 0) return false;
  }
  return true;
}

}  // namespace

std::optional<BufferId> NonTemporalTarget(const LoopProgram& program,
                                          const Nest& nest) {
  std::optional<BufferId> target;
  for (const Inst& inst : nest.insts) {
    if (inst.opcode != Opcode::kStore) continue;
    const BufferId base = nest.pointers[inst.memory.pointer].base;
    const Buffer& buffer = program.buffers[base];
    const auto size = static_cast<int64_t>(SizeOf(buffer.dtype));
    if (target && *target != base) return std::nullopt;
    if (NumElements(buffer.dims) * size < kMinNonTemporalBytes)
      return std::nullopt;
    if (inst.lanes > 1 && inst.memory.stride != size) return std::nullopt;
    target = base;
    if (inst.lanes == 1 || inst.active_lanes < inst.lanes) continue;  // a tail
    if (!IsAligned(nest, inst.memory, inst.lanes * size)) return std::nullopt;
  }
  for (const Inst& inst : nest.insts) {
    const bool touches =
        inst.memory.pointer >= 0 && inst.opcode != Opcode::kStore;
    if (touches && nest.pointers[inst.memory.pointer].base == target) {
      return std::nullopt;
    }
  }
  return target;
}

}  // namespace ocannl::jit
