// SPDX-License-Identifier: Apache-2.0
//
// WriteMap: assignments to each cell, with the cells that are side by side as
// lanes; WriteScatter: the same for those whose row is looked up.
//
//   for i1 { for i2 = 0 to 99 { y[i1, i2] := x[i1, i2] * 2; } }
//     ->  for i1 { vec i2 = 0 to 63 { ... }  vec i3 = 0 to 35 { ... } }
#ifndef OCANNL_CORE_SCHEDULE_MAP_H_
#define OCANNL_CORE_SCHEDULE_MAP_H_

#include <vector>

#include "ocannl/core/schedule/nest.h"
#include "ocannl/core/schedule/target.h"
#include "ocannl/core/schedule/writer.h"

namespace ocannl {

// Appends the nest, which has no reduced loops and a loop for the lanes
// (FindLaneLoop), and the `epilogues` over the same loops. Returns whether it
// transposes an operand in registers.
bool WriteMap(NestWriter& writer, const PerfectNest& nest,
              const std::vector<Set>& epilogues, const Target& target,
              Block& block);

// Appends the nest with its last loop in strips, each with the other loops in
// it and lanes in those.
void WriteScatter(NestWriter& writer, const ScatterNest& nest,
                  const Target& target, Block& block);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_MAP_H_
