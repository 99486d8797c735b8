// SPDX-License-Identifier: Apache-2.0
//
// PrintWork: the table of a roofline analysis (Williams, Waterman and Patterson
// 2009): the arithmetic and the memory traffic of each nest.
//
//   nest         flops    bytes read    bytes written    flops/byte
//   y            16384          2304              256          6.40
#ifndef OCANNL_CORE_TIERING_WORK_H_
#define OCANNL_CORE_TIERING_WORK_H_

#include <string>

#include "ocannl/core/loop/loop.h"

namespace ocannl {

// A line for each loop nest, assignment and zero_out of the program's body, by
// the arrays that it writes; and their sum.
//   flops   Prediction::flops of one run
//   bytes   of each array that it reads or writes, once and whole: the least
//           traffic of a cache that holds them all. Private arrays have none.
std::string PrintWork(const LoopProgram& program);

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_WORK_H_
