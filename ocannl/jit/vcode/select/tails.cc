// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/select/tails.h"

#include <algorithm>

#include "ocannl/core/runtime/device_memory.h"

namespace ocannl::jit {

bool EndsInPadding(const Buffer& buffer, const Affine& offset,
                   const Lanes& lanes) {
  const auto size = static_cast<int64_t>(SizeOf(buffer.dtype));
  if (!IsScratch(buffer.role) || !lanes.iterator.valid() || size < 4)
    return false;
  const int64_t end = NumElements(buffer.dims) * size;
  const int64_t padding = -end & (DeviceMemory::kAlignment - 1);
  return offset == size * Affine(Iterator(lanes.iterator)) +
                       Affine(end - lanes.active * size) &&
         (lanes.count - lanes.active) * size <= padding;
}

bool CanOverread(const LoopProgram& program, const Unroller& unroller,
                 const Access& access) {
  const Lanes& lanes = unroller.lanes();
  const Buffer& buffer = program.buffers[access.buffer];
  const auto size = static_cast<int64_t>(SizeOf(buffer.dtype));
  const Affine offset = unroller.ByteOffsetOf(access);
  int64_t last = offset.offset();
  for (const Affine::Term& term : offset.terms()) {
    if (term.symbol == Iterator(lanes.iterator)) {
      if (term.factor != size) return false;
      continue;
    }
    if (term.symbol.kind == Symbol::kStatic) return false;
    const int64_t extent = unroller.extents().at(term.symbol.iterator());
    last += std::max<int64_t>(term.factor, 0) * (extent - 1);
  }
  return size >= 4 &&
         last + lanes.count * size <= NumElements(buffer.dims) * size;
}

}  // namespace ocannl::jit
