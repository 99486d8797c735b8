// SPDX-License-Identifier: Apache-2.0
//
// Renumber: statements of one program as statements of another, whose buffers,
// locals, iterators and static indices have other numbers.
#ifndef OCANNL_CORE_LOOP_RENUMBER_H_
#define OCANNL_CORE_LOOP_RENUMBER_H_

#include <cstdint>

#include "ocannl/core/loop/loop.h"

namespace ocannl {

struct Renumbering {
  IdVector<BufferId, BufferId> buffers;  // the new id of each
  IdVector<LocalId, LocalId> locals;
  int32_t first_static = 0;  // added to the number of each
  int32_t first_iterator = 0;
};

// `block` of `from` for `to`, which must have the buffers and locals already.
Block Renumber(const LoopProgram& from, Block block,
               const Renumbering& renumbering, LoopProgram& to);

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_RENUMBER_H_
