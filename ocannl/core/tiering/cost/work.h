// SPDX-License-Identifier: Apache-2.0
//
// WorkOf and PrintWork: the table of a roofline analysis (Williams, Waterman
// and Patterson 2009): the arithmetic and the memory traffic of each nest.
//
//   nest         flops    bytes read    bytes written    flops/byte
//   y            16384          2304              256          6.40
#ifndef OCANNL_CORE_TIERING_COST_WORK_H_
#define OCANNL_CORE_TIERING_COST_WORK_H_

#include <string>
#include <vector>

#include "ocannl/core/loop/loop.h"
#include "ocannl/core/tiering/cost/nest_work.h"

namespace ocannl {

// Of each loop nest, assignment and zero_out of the program's body.
std::vector<NestWork> WorkOf(const LoopProgram& program);

// A line for each of them, by the arrays that it writes; and their sum. The
// bytes are the least traffic of a cache that holds all arrays.
std::string PrintWork(const LoopProgram& program);

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_COST_WORK_H_
