// SPDX-License-Identifier: Apache-2.0
//
// Walks over statements and the expressions in them.
#ifndef OCANNL_CORE_LOOP_WALK_H_
#define OCANNL_CORE_LOOP_WALK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// The iterator whose text is `name`: 7 for "i7". The greatest is 10^9.
std::optional<IteratorId> IteratorNamed(absl::string_view name);

// An iterator with a number greater than every one in `program`, those in the
// names of static indices and those of loops that are gone included.
IteratorId NextIterator(const LoopProgram& program);

// Has fresh iterators of the program numbered from there on. Parse and planners
// call it, so that a script makes the same loops of a program and of its text.
void CountIterators(LoopProgram& program);

// Every loop, outer before inner.
void WalkLoops(const Block& block, absl::FunctionRef<void(const For&)> visit);

// The loop that is all of the body of `loop`; else null.
const For* OnlyLoopIn(const For& loop);
For* OnlyLoopIn(For& loop);

// The perfectly nested loops from `outermost` on: each of them is all of the
// body of the one before.
std::vector<const For*> LoopChain(const For& outermost);
std::vector<IteratorId> IteratorsOf(const std::vector<const For*>& loops);

// Every statement, a loop before its body.
void WalkStmts(const Block& block, absl::FunctionRef<void(const Stmt&)> visit);

// The same, for changing statements in place.
void RewriteStmts(Block& block, absl::FunctionRef<void(Stmt&)> rewrite);

// The value of a Set, Scatter, DeclareLocal or SetLocal; else null.
const ExprId* ValueOf(const Stmt& stmt);
ExprId* ValueOf(Stmt& stmt);

// The buffer that a Set, Scatter or ZeroOut writes; none: not valid.
BufferId WrittenBy(const LoopProgram& program, const Stmt& stmt);

// Every leaf of `value`, each distinct one once.
void WalkLeaves(const LoopProgram& program, ExprId value,
                absl::FunctionRef<void(const LeafValue&)> visit);

// The leaves of the statement's value, if it has one, and the target of a
// Scatter: it reads an index there, and the cells that it does not write stay.
void WalkLeaves(const LoopProgram& program, const Stmt& stmt,
                absl::FunctionRef<void(const LeafValue&)> visit);

// Every cell that `value` reads, that which holds an index before that which is
// looked up, whose index is 0 on that axis.
void WalkReads(const LoopProgram& program, ExprId value,
               absl::FunctionRef<void(const Access&)> visit);
void WalkReads(const LoopProgram& program, const Stmt& stmt,
               absl::FunctionRef<void(const Access&)> visit);

// Every axis, the last one first: its stride, in cells, and index.
void WalkStrides(
    const LoopProgram& program, const Access& access,
    absl::FunctionRef<void(int64_t stride, const Affine& index)> visit);

// How many bytes lie between the buffer's first cell and that of `access`.
Affine ByteOffset(const LoopProgram& program, const Access& access);

// The stride, in cells, of `lookup` along the axis that it looks up.
int64_t LookupStride(const LoopProgram& program, const Lookup& lookup);

// Replaces every statement's value by `rewrite(value)`.
void RewriteValues(Block& block, absl::FunctionRef<ExprId(ExprId)> rewrite);

// `leaf` with each symbol of its indices replaced by `value(symbol)`.
LeafValue SubstituteIndices(LeafValue leaf,
                            absl::FunctionRef<Affine(Symbol)> value);

// `value` with each leaf replaced by `leaf(value of the leaf)`.
ExprId RewriteLeaves(LoopProgram& program, ExprId value,
                     absl::FunctionRef<ExprId(const LeafValue&)> leaf);

// Replaces each leaf of the statement's value, and the target of a Set or a
// Scatter, by `rewrite` of it; the target stays what it is.
void RewriteLeaves(LoopProgram& program, Stmt& stmt,
                   absl::FunctionRef<LeafValue(LeafValue)> rewrite);

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_WALK_H_
