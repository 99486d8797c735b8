// SPDX-License-Identifier: Apache-2.0
//
// Renumber: statements of one program as statements of another, whose buffers,
// locals, iterators and static indices have other numbers.
#ifndef OCANNL_CORE_LOOP_RENUMBER_H_
#define OCANNL_CORE_LOOP_RENUMBER_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// The new id of each, asked for where it is met: a loop's iterator before those
// of the loops in it, a target before what is stored there.
struct Renumbering {
  absl::FunctionRef<BufferId(BufferId)> buffer;
  absl::FunctionRef<LocalId(LocalId)> local;
  absl::FunctionRef<IteratorId(IteratorId)> iterator;
  int32_t first_static = 0;  // added to the number of each
};

// `block` of `from` for `to`, which has a buffer and a local when it is named.
Block Renumber(const LoopProgram& from, Block block,
               const Renumbering& renumbering, LoopProgram& to);

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_RENUMBER_H_
