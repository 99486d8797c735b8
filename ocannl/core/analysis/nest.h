// SPDX-License-Identifier: Apache-2.0
//
// PerfectNest: perfectly nested loops around one assignment, the unit that is
// scheduled; and what statements read and write.
//
//   for i1 = 0 to 9 { for i2 = 0 to 15 { for i3 = 0 to 7 {
//     y[i1, i2] := fma(w[i2, i3], x[i1, i3], y[i1, i2]); } } }
//
//   output loops i1, i2; reduced loop i3
#ifndef OCANNL_CORE_ANALYSIS_NEST_H_
#define OCANNL_CORE_ANALYSIS_NEST_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ocannl/core/loop/loop.h"

namespace ocannl {

struct NestLoop {
  IteratorId iterator;
  int64_t extent;
};

struct PerfectNest {
  // Those on which the target depends or that have one iteration; outer first.
  std::vector<NestLoop> outputs;
  std::vector<NestLoop> reduced;  // the others: the reduction
  Set set;

  bool accumulates() const { return !reduced.empty(); }
};

// `stmt`, a statement of the program's body, as a nest whose output loops are
// parallel. If there are reduced loops, its value reads the target's buffer
// only at the target's cell. nullopt if it is not such a nest, or its reduction
// has lookups.
std::optional<PerfectNest> AsPerfectNest(const LoopProgram& program,
                                         const Stmt& stmt);

// Perfectly nested loops around one Scatter, outer first. The last one is
// parallel, as an innermost axis of the target.
struct ScatterNest {
  std::vector<NestLoop> loops;
  Scatter scatter;
};
std::optional<ScatterNest> AsScatterNest(const LoopProgram& program,
                                         const Stmt& stmt);

// Perfectly nested `for` loops, outer first, around `stmts`; the only statement
// where there are none.
Stmt Around(const std::vector<NestLoop>& loops, std::vector<Stmt> stmts);

// The index of the output loop that has unit stride in the target, or -1.
int FindLaneLoop(const LoopProgram& program, const PerfectNest& nest);

// Whether an index depends on the iterator.
bool MovesAlong(const Access& access, IteratorId iterator);

// The stride of `access` along a loop, in elements.
int64_t StrideOf(const LoopProgram& program, const Access& access,
                 IteratorId iterator);

// The accesses that `value` reads, each once, without gathered ones.
std::vector<Access> ReadsOf(const LoopProgram& program, ExprId value);

// Those of the nest's value in other buffers than the target's.
std::vector<Access> OperandsOf(const LoopProgram& program,
                               const PerfectNest& nest);

// The bytes of one element.
int64_t SizeOfCell(const LoopProgram& program, const Access& access);

// How often the body of all loops runs.
double Iterations(const std::vector<NestLoop>& loops);

// The buffers from which `value` gathers.
std::vector<BufferId> LookedUpBy(const LoopProgram& program, ExprId value);

bool UsesLocals(const LoopProgram& program, ExprId value);

// The read and write sets of a statement or of all in a block, as buffers and
// locals; to declare a local is to write it. Sorted.
struct Effects {
  std::vector<BufferId> reads, writes;
  std::vector<LocalId> local_reads, local_writes;

  std::vector<BufferId> buffers() const;  // all of them
};
Effects EffectsOf(const LoopProgram& program, const Stmt& stmt);
Effects EffectsOf(const LoopProgram& program, const Block& block);

// Whether a flow, anti or output dependence of whole buffers, or of locals,
// keeps their order.
bool Conflict(const Effects& a, const Effects& b);

}  // namespace ocannl

#endif  // OCANNL_CORE_ANALYSIS_NEST_H_
