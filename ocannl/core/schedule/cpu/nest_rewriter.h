// SPDX-License-Identifier: Apache-2.0
//
// NestRewriter: steps of plans for CPUs, each a few rewrites of a nest
// (rewrite/rewriter.h), in time that depends on the nest alone.
//
//   NestRewriter nest(program, Around({i, j}, {set}));
//   OCANNL_ASSIGN_OR_RETURN(const auto strips, nest.StripMine(j, 16));
//   for (const NestLoop& strip : strips) {
//     OCANNL_RETURN_IF_ERROR(nest.Vectorize(strip));
//   }
//   std::move(nest).MoveTo(block);
//
// Errors are those of the rewrites: what is planned well has none.
#ifndef OCANNL_CORE_SCHEDULE_CPU_NEST_REWRITER_H_
#define OCANNL_CORE_SCHEDULE_CPU_NEST_REWRITER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/rewrite/legality.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"

namespace ocannl {

// Statements of one block: the loops `first` and `last`, and what is between.
struct NestRegion {
  NestRegion() = default;
  NestRegion(IteratorId first_loop, IteratorId last_loop)
      : first(first_loop), last(last_loop) {}
  explicit NestRegion(const NestLoop& loop)
      : NestRegion(loop.iterator, loop.iterator) {}

  IteratorId first;
  IteratorId last;
};

class NestRewriter {
 public:
  // Until MoveTo, `nest` is all of the body of the program. The script, if
  // there is one, gets the rewrites.
  NestRewriter(LoopProgram& program, Stmt nest,
               rewrite::Legality legality = rewrite::Legality::kProve,
               rewrite::Script* script = nullptr);

  const LoopProgram& program() const { return program_; }

  // Strip mining: the loop goes over strips of `size` iterations, if there are
  // several; they, first, and what does not fill one are loops of their own.
  absl::StatusOr<std::vector<NestLoop>> StripMine(const NestLoop& loop,
                                                  int64_t size);

  // The same of a loop that `size` divides. Returns the loop over a strip.
  absl::StatusOr<NestLoop> Split(const NestLoop& loop, int64_t size);

  // Index-set splitting: the loop keeps its iterations below `at`. Returns the
  // loop over the others, and the copies of those that are in the loop.
  struct Rest {
    NestLoop loop;
    absl::flat_hash_map<IteratorId, IteratorId> copies;
  };
  absl::StatusOr<Rest> Cut(const NestLoop& loop, int64_t at);

  // Loop distribution. Returns the loops but the first.
  absl::StatusOr<std::vector<NestLoop>> Distribute(const NestLoop& loop);

  // As in rewrites.def; Unroll is Bind. Vectorize and Unroll leave a loop of
  // one iteration as it is.
  absl::Status Reorder(const std::vector<NestLoop>& order);
  absl::Status Vectorize(const NestLoop& loop);
  absl::Status UnrollJam(const NestLoop& loop, int64_t factor);
  absl::Status Unroll(const NestLoop& loop);
  absl::Status Parallel(const NestLoop& loop);
  absl::Status Privatize(BufferId buffer, const NestRegion& region);

  // Cache read of the accesses that depend on one of the loops `along`. Returns
  // the loops of the copy, in the order of its axes.
  absl::StatusOr<std::vector<NestLoop>> Pack(
      BufferId buffer, const NestRegion& region,
      const std::vector<IteratorId>& along);

  // Adjacent loops that are not parallel and in no other become one statement.
  absl::Status EncloseSerial();

  // Loops of one iteration that are in other loops become what is in them.
  absl::Status RemoveUnitLoops();

  // Whether the loop is in no other one.
  bool IsOutermost(const NestLoop& loop) const;

  // Loop fusion.
  absl::Status Fuse(const NestLoop& first, const NestLoop& second);

  // The same of perfectly nested loops, outermost first, with others, of a
  // statement that comes behind the nest. One of these that has the extent of a
  // few adjacent loops is split into as many.
  absl::Status FuseWith(const std::vector<NestLoop>& loops, Stmt other,
                        const std::vector<NestLoop>& others);

  // The first zero_out of `buffer`, which has rows of several cells, becomes
  // loops over rows and, in lanes, cells. Returns the outermost one.
  absl::StatusOr<NestLoop> ZeroRows(BufferId buffer);

  // The loop becomes the body of a new unit loop, which is returned.
  absl::StatusOr<NestLoop> Enclose(const NestLoop& loop);

  // Init absorption by the loop of `init`, which sets all of `buffer` before
  // the nest.
  absl::Status AbsorbZeroOut(BufferId buffer, Stmt init, const NestLoop& loop);

  // Splits the loop over rows in blocks of `size`, and transposes the last
  // `lanes` of their reductions. Returns the loop over blocks and that over the
  // rest, if there is one; nullopt, with nothing changed, where that cannot be.
  std::optional<std::vector<NestLoop>> TryTransposeRows(const NestLoop& rows,
                                                        int64_t size,
                                                        int64_t lanes);

  // Appends what became of the nest to `block`.
  void MoveTo(Block& block) &&;

  // What makes them, for savepoints.
  rewrite::Rewriter& rewriter() { return rewriter_; }

 private:
  LoopProgram& program_;
  Block others_;
  rewrite::Rewriter rewriter_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_NEST_REWRITER_H_
