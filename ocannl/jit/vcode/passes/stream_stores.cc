// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "absl/algorithm/container.h"
#include "ocannl/jit/vcode/operands.h"
#include "ocannl/jit/vcode/passes/passes.h"

namespace ocannl::jit {
namespace {

// More than any core's share of L3. Where a cache would have kept the lines,
// non-temporal stores are several times slower; `bazel run //experiments:bench
// -- --filter=map/` compares maps in L2 and in memory.
constexpr int64_t kMinStreamedBytes = int64_t{32} << 20;

bool IsWhole(const Inst& store) {
  return store.lanes > 1 && store.active_lanes == store.lanes;
}

// Whether the address is always a multiple of the vector's size, provided that
// the buffer begins at a cache line.
bool IsAligned(const Nest& nest, const Inst& store) {
  const auto bytes = static_cast<int64_t>(store.lanes * SizeOf(store.dtype));
  const Affine& offset = nest.pointers[store.memory.pointer].value;
  return (offset.offset() + store.memory.disp) % bytes == 0 &&
         absl::c_all_of(offset.terms(), [&](const Affine::Term& term) {
           return term.factor % bytes == 0;
         });
}

}  // namespace

std::optional<BufferId> StreamedBuffer(const Nest& nest) {
  std::optional<BufferId> streamed;
  for (const Inst& inst : nest.insts) {
    if (inst.opcode != Opcode::kStore) continue;
    const Pointer& pointer = nest.pointers[inst.memory.pointer];
    if (streamed && *streamed != pointer.base) return std::nullopt;
    if (pointer.size < kMinStreamedBytes || SizeOf(inst.dtype) < 4) {
      return std::nullopt;
    }
    if (inst.lanes > 1 && !IsContiguous(inst)) return std::nullopt;
    if (IsWhole(inst) && !IsAligned(nest, inst)) return std::nullopt;
    streamed = pointer.base;
  }
  for (const Inst& inst : nest.insts) {
    const bool touches =
        inst.memory.pointer >= 0 && inst.opcode != Opcode::kStore;
    if (touches && nest.pointers[inst.memory.pointer].base == streamed) {
      return std::nullopt;
    }
  }
  return streamed;
}

void StreamStores(Nest& nest, Isa) {
  const std::optional<BufferId> streamed = StreamedBuffer(nest);
  if (!streamed) return;
  nest.aligned = *streamed;
  nest.otherwise = nest.insts;
  for (Inst& inst : nest.insts) {
    if (inst.opcode == Opcode::kStore && IsWhole(inst)) {
      inst.opcode = Opcode::kStream;
    }
  }
  nest.insts.push_back({.opcode = Opcode::kFence});
}

}  // namespace ocannl::jit
