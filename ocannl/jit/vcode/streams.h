// SPDX-License-Identifier: Apache-2.0
//
// StreamedBuffer: the result of a nest that is too large to be found in a cache
// again, so that its stores had better go to memory at once, without reading
// the lines that they overwrite.
#ifndef OCANNL_JIT_VCODE_STREAMS_H_
#define OCANNL_JIT_VCODE_STREAMS_H_

#include <cstdint>
#include <optional>

#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// The only buffer that the nest writes, without reading it, if it is of that
// size and the nest stores whole vectors at multiples of their size, given that
// the buffer begins at a cache line; nullopt where there is none.
std::optional<int32_t> StreamedBuffer(const LoopProgram& program,
                                      const Nest& nest);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_STREAMS_H_
