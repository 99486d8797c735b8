// SPDX-License-Identifier: Apache-2.0
//
// NonTemporalTarget: the result of a nest that exceeds the caches, so that
// non-temporal stores are better: they do not read the lines that they
// overwrite, nor evict others.
#ifndef OCANNL_JIT_VCODE_NON_TEMPORAL_H_
#define OCANNL_JIT_VCODE_NON_TEMPORAL_H_

#include <optional>

#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// The only buffer that the nest writes, without reading it, if it is of that
// size. The nest must store whole vectors at multiples of their size, provided
// that the buffer begins at a cache line. nullopt if there is none.
std::optional<BufferId> NonTemporalTarget(const LoopProgram& program,
                                          const Nest& nest);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_NON_TEMPORAL_H_
