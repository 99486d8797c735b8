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

namespace ocannl {

// Of a loop nest, an assignment or a zero_out, as NestWork counts them
// (nest_work.h): the least traffic of a cache that holds all arrays.
struct Work {
  std::string name;  // the arrays that it writes
  double arithmetic = 0;
  double flops = 0;
  double bytes_read = 0;
  double bytes_written = 0;
};

// Of each in the program's body.
std::vector<Work> WorkOf(const LoopProgram& program);

// A line for each of them, and their sum.
std::string PrintWork(const LoopProgram& program);

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_COST_WORK_H_
