// SPDX-License-Identifier: Apache-2.0
//
// Plan: how a nest will run, chosen by a closed-form model of the processor.
//
//   y[b, o] += w[o, i] * x[b, i], 64 x 48 x 256
//     ->  contract: 4 x 12 rows and 1 x 48 columns a tile, w packed
#ifndef OCANNL_CORE_SCHEDULE_PLAN_H_
#define OCANNL_CORE_SCHEDULE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ocannl/core/schedule/nest.h"
#include "ocannl/core/schedule/segment.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl {

// A contraction's loops: `n` runs over lanes, `m` over the rows of a tile; the
// tile's accumulators stay in registers while the reduced loops run. Where n
// moves what each row reads too, rows share nothing unless a tile has layers as
// well: of another loop, `q`, which moves what m does not. Few columns have
// layers too, as those of several products beside each other.
//
//   y[m, q, n] += a[m, k, n] * b[k, q, n]
struct ContractPlan {
  std::vector<NestLoop> outer;  // other output loops, in order
  std::optional<NestLoop> m;
  std::optional<NestLoop> q;
  NestLoop n;
  std::vector<Segment> rows;     // of m; one of size 1 where there is no m
  std::vector<Segment> layers;   // of q, the same
  std::vector<Segment> columns;  // of n
  // Tiles side by side whose columns stay in the second cache while all rows
  // pass by; as many as divide the columns' count. Or, where each step reads
  // a little of a long row, as many as take a page of it.
  int64_t group = 1;
  // Of the outermost reduced loop: parts whose columns the second cache holds.
  std::vector<Segment> parts;
  // Those parts are inside of the outermost loop and outside of all others:
  // they hold what all tiles of a part read.
  bool shares_parts = false;
  int64_t unroll = 1;            // iterations of the innermost reduced loop
  std::optional<Access> packed;  // the operand that n moves, where it is packed
  bool is_transposed = false;    // n does not move it cell by cell
  std::optional<Access> packed_rows;  // that which m moves, where it is packed
  bool is_parallel = false;

  // Whether accumulators go back to the target between the parts.
  bool has_parts() const { return parts.size() > 1 || parts[0].count > 1; }
};

// Chooses a plan for a nest that accumulates numbers of at least 32 bits. Where
// no output loop moves the target cell by cell, there is one lane.
ContractPlan PlanContract(const LoopProgram& program, const PerfectNest& nest,
                          const Target& target);

// The plan in words, for the scheduled program: "contract 10x16x16: ...".
std::string Describe(const LoopProgram& program, const PerfectNest& nest,
                     const ContractPlan& plan);

// The place of the output loop that moves the target cell by cell, or -1.
int FindLaneLoop(const LoopProgram& program, const PerfectNest& nest);

// Work that is worth sharing with other threads, in cycles of one.
inline constexpr double kMinParallelCycles = 16'000;

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_PLAN_H_
