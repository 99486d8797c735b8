// SPDX-License-Identifier: Apache-2.0
//
// NestRewriter: the rewrites by which the scheduler transforms a nest. Each is
// proved legal as those of users are (rewrite/rewrite.h), in time that depends
// on the nest alone.
//
//   NestRewriter nest(program, Around({i, j}, {set}));
//   for (const NestLoop& strip : nest.StripMine(j, 16)) nest.Vectorize(strip);
//   nest.Parallel(i.iterator);
//   std::move(nest).MoveTo(block);
#ifndef OCANNL_CORE_SCHEDULE_NEST_REWRITER_H_
#define OCANNL_CORE_SCHEDULE_NEST_REWRITER_H_

#include <cstdint>
#include <vector>

#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

class NestRewriter {
 public:
  // Until MoveTo, `nest` is all of the program's body. `program` has its
  // next_iterator beyond all that it has anywhere.
  NestRewriter(LoopProgram& program, Stmt nest);

  const LoopProgram& program() const { return program_; }

  // Strip mining: the loop goes over strips of `size` iterations, if there are
  // several; they, first, and what does not fill one are loops of their own.
  std::vector<NestLoop> StripMine(const NestLoop& loop, int64_t size);

  // Index-set splitting: the loop keeps its iterations below `at`. Returns the
  // loop over the others; those in it are copies, numbered from there on.
  NestLoop Cut(const NestLoop& loop, int64_t at);

  // Loop distribution of a loop around two statements. Returns the second loop.
  NestLoop Distribute(const NestLoop& loop);

  // As in rewrite.h; Unroll is Bind.
  void Reorder(const std::vector<NestLoop>& order);
  void Vectorize(const NestLoop& loop);
  void UnrollJam(const NestLoop& loop, int64_t factor);
  void Unroll(const NestLoop& loop);
  void Parallel(const NestLoop& loop);

  // Whether the loop is in no other one.
  bool IsOutermost(const NestLoop& loop) const;

  // Loop fusion with a loop of as many iterations, which comes behind it; false
  // where that is not legal.
  bool Fuse(IteratorId first, const For& second);

  // Appends what became of the nest to `block`.
  void MoveTo(Block& block) &&;

 private:
  LoopProgram& program_;
  Block others_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_NEST_REWRITER_H_
