// SPDX-License-Identifier: Apache-2.0
//
// Rewrites: loop transformations, one legal step at a time, of which the
// scheduler's plans and schedules by hand are made.
//
//   Split(program, i3, 16)        strip mining: i3 over strips of i4
//   Reorder(program, {i3, i1})    interchange
//   Vectorize(program, i4)
//
// Each gives the program the same bits, SplitReduce sums in another order; or
// an error that names the dependence, after which the program may be half
// rewritten. The program is one that Verify accepts, or that rewrites gave.
// Whoever calls them checks what the last one gave with Verify and
// gpu::VerifyKernels, as RunScript (script.h) does, which reads rewrites from
// text. A loop is named by its iterator.
// New iterators are the next ones, in the order in which the comments name
// them. All but ZeroLoops, AbsorbZeroOut, Collapse, Demote and Sink change only
// the statements of the program's body that the loops are in, and the buffers
// that those name. A nest stays as it is made once one of its loops is not a
// `for`: Schedule plans all others.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_REWRITE_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_REWRITE_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/rewrite/legality.h"

namespace ocannl::rewrite {

// Strip mining: the loop goes over strips of `size` iterations; a new one in it
// goes over a strip, of the same kind unless that is `par`. A second new loop
// does the remainder afterwards. Errors: a size beyond the loop's; a nest of
// more than kMaxLoopDepth loops (core/ops/depth.h).
absl::Status Split(LoopProgram& program, IteratorId loop, int64_t size);

// Interchange: perfectly nested loops in the order of `order`, outermost first.
// Errors: other loops; a dependence would be reversed.
absl::Status Reorder(LoopProgram& program, absl::Span<const IteratorId> order,
                     Legality legality = Legality::kProve);

// The loop's iterations become lanes: each statement for all of them before the
// next one. Errors: there is a loop inside; more than 1024 iterations; a lane
// reads what an earlier one writes.
absl::Status Vectorize(LoopProgram& program, IteratorId loop,
                       Legality legality = Legality::kProve);

// Unroll and jam: the loop is split, and the loop over a group of `factor`
// iterations is interchanged inwards, up to lanes or what is more than a loop,
// and unrolled. A new loop, and one for the remainder as in Split; with a
// factor of all iterations neither. Errors: those of Split and Reorder.
absl::Status UnrollJam(LoopProgram& program, IteratorId loop, int64_t factor,
                       Legality legality = Legality::kProve);

// Index-set splitting: the loop does its iterations below `at`, a new one
// behind it the others. Error: one of them would have none.
absl::Status Cut(LoopProgram& program, IteratorId loop, int64_t at);

// Complete unrolling: the body stands in the place of the loop, once for each
// iteration, of which there are at most 16; a loop of one is gone. Errors: more
// iterations; another kind than `for`.
absl::Status Unroll(LoopProgram& program, IteratorId loop);

// The loops from `first` to `last`, statements of one block, become the body of
// a unit loop, a new one of one iteration, so that they are one statement.
absl::Status Enclose(LoopProgram& program, IteratorId first, IteratorId last);

// Loop distribution (fission): each statement of the loop's body gets a loop of
// its own, in order; the first one keeps the iterator. Errors: there is but one
// statement; a dependence would be reversed; one uses a local of another.
absl::Status Distribute(LoopProgram& program, IteratorId loop,
                        Legality legality = Legality::kProve);

// Collapse (coalescing): the loop `inner`, which is all that is in `outer`, and
// that one become one, `outer`. Where they go over two adjacent axes of a
// buffer, these are one axis from then on, in all of the program; the layout in
// memory stays. Errors: other loops; an index in which the two do not count as
// one, or two axes of which one is looked up.
absl::Status Collapse(LoopProgram& program, IteratorId outer, IteratorId inner);

// Collapse of several pairs, of other loops each, in the time of one.
using LoopPair = std::pair<IteratorId, IteratorId>;  // outer, inner
absl::Status CollapsePairs(LoopProgram& program,
                           absl::Span<const LoopPair> pairs);

// Cache write: what the loops from `first` to `last`, statements of one block,
// write of `buffer` is in a private buffer, which may be registers, while they
// run, and is stored after them; it is loaded before them where they read it.
// Errors: they write none, or access them in ways of which one does not tell
// the other.
absl::Status Privatize(LoopProgram& program, absl::string_view buffer,
                       IteratorId first, IteratorId last);

// Cache read: what the loops from `first` to `last`, statements of one block,
// read of `buffer` is copied before them, in the order in which their loops
// read it; with loops `along` which, only what depends on one of these. Errors:
// they write the buffer, or as in Privatize.
absl::Status Pack(LoopProgram& program, absl::string_view buffer,
                  IteratorId first, IteratorId last,
                  absl::Span<const IteratorId> along);

// The loop's iterations may run on several threads, and do where the loop is
// all of one statement of the program's body. Errors: one reads or writes what
// another writes; it is inside of such a loop or around one.
absl::Status Parallel(LoopProgram& program, IteratorId loop,
                      Legality legality = Legality::kProve);

// Loop fusion: the loop `second`, a statement behind `first` in the same block,
// becomes part of its body; comments before it then stand before `first`.
// Errors: other places, kinds or extents; a dependence would be reversed.
absl::Status Fuse(LoopProgram& program, IteratorId first, IteratorId second,
                  Legality legality = Legality::kProve);

// The first zero_out of `buffer` becomes loops over its axes.
absl::Status ZeroLoops(LoopProgram& program, absl::string_view buffer);

// Init absorption: the zero_out of `buffer`, of which no use stands between it
// and the nest, becomes an assignment at the start of what `loop` does; its
// comments stay. Errors: the loop and those around it do not visit each cell
// once, or hold more; no such zero_out.
absl::Status AbsorbZeroOut(LoopProgram& program, absl::string_view buffer,
                           IteratorId loop);

// Whether `loops`, in bounds, visit each cell of a buffer as `cell` once, so
// that Verify sees it: boxes, not y[20*i1 + i2].
bool CoversBuffer(const LoopProgram& program, const Access& cell,
                  absl::Span<const NestLoop> loops);

// The iterations of the loop become blocks (`grid`) or threads (`thread`) of a
// GPU, or none of them (`for`, `unroll`). Verify sees when all loops of a nest
// are bound: blocks without threads are no kernel. Error: one iteration reads
// or writes what another writes.
absl::Status Bind(LoopProgram& program, IteratorId loop, LoopKind kind);

// Cache read into shared memory (shared memory tiling): what the body of the
// loop, which is around the threads of a block, reads of `buffer` is copied by
// all of them in a phase of its own in front. Errors: no loop around threads;
// it writes the buffer, or as in Privatize.
absl::Status Stage(LoopProgram& program, absl::string_view buffer,
                   IteratorId loop);

// Software pipelining with register prefetching: of a loop that begins with
// copies of Stage, each iteration reads what the next one copies into registers
// before it goes on, and stores that into shared memory at its end; a copy
// stands before the loop, and the last iteration's work behind it. Errors: no
// such copies, or some of a number of cells that no `unroll` counts; the loop
// writes what it copies.
absl::Status Prefetch(LoopProgram& program, IteratorId loop);

// Register demotion: locals of the program's body, which no kernel shares with
// another one, become temps.
absl::Status Demote(LoopProgram& program);

// Array contraction: `buffer`, a temp that only the loop uses and of which each
// iteration reads only what it has written, becomes private, with each axis as
// long as what an iteration uses of it, and without those of one index. Errors:
// a use elsewhere; a cell that is looked up; a loop that is lanes, blocks or
// threads.
absl::Status ContractArray(LoopProgram& program, absl::string_view buffer,
                           IteratorId loop);

// Array expansion, the inverse: `buffer`, private, that only the loop uses and
// of which each iteration reads only what it has written, gets a first axis, of
// which each iteration has a place of its own, so that the loop can be
// distributed. Errors: another role; a use elsewhere; a cell that is looked up;
// a zero_out; a loop that is, or is in, blocks or threads, or that its indices
// have already; more than 2^20 cells.
absl::Status ExpandArray(LoopProgram& program, absl::string_view buffer,
                         IteratorId loop);

// Outer-loop vectorization of row reductions: the loop over rows is distributed
// over what it does, and where a row's private cells below `lanes` are halved
// until one is left, each row is a lane. Makes a loop over rows for what stands
// before and behind that each, and two loops or one for what each such
// statement does. Errors: more in it than loops, such statements and comments;
// a row that depends on another, or writes not all of these cells; nothing that
// is halved; less than two rows or lanes; it is in no loop, or no `for`.
absl::Status TransposeRows(LoopProgram& program, IteratorId loop, int64_t lanes,
                           Legality legality = Legality::kProve);

// Cross-thread reduction: the loop and those around it become blocks (`grid`),
// the `vec` loops in it their threads; what stands between these runs in one
// thread, and private buffers become shared. Errors: loops around it that hold
// more; none of it is `vec`; as of Bind.
absl::Status CrossThread(LoopProgram& program, IteratorId loop);

// Code sinking: the loop, a statement of the program's body, moves down to the
// first one that reads what it writes or writes what it touches, or to the end.
// Error, with nothing changed: it stands there already.
absl::Status Sink(LoopProgram& program, IteratorId loop);

// Sums, products and extremes over contiguous memory are accumulated in 64
// lanes (loop/split_reduce.h), which changes how they round. The loop is the
// outermost of the reduction's. Errors: the loops hold anything else; no run of
// cells to put in lanes.
absl::Status SplitReduce(LoopProgram& program, IteratorId loop);

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_REWRITE_H_
