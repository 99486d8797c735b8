// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/nests/canonicalize.h"

#include <optional>
#include <utility>
#include <vector>

#include "ocannl/core/schedule/rewrite/edit.h"

namespace ocannl {
namespace {

// Takes the loops of one iteration out of `loops`, and their iterators, which
// are 0, out of `stmt`.
template <class T>
void DropUnitLoops(LoopProgram& program, std::vector<NestLoop>& loops,
                   T& stmt) {
  rewrite::IteratorMap ones;
  for (const NestLoop& loop : loops) {
    if (loop.extent == 1) ones[loop.iterator] = 0;
  }
  if (ones.empty()) return;
  std::erase_if(loops, [](const NestLoop& loop) { return loop.extent == 1; });
  Stmt without = std::move(stmt);
  rewrite::Substitute(program, without, ones);
  stmt = std::get<T>(std::move(without));
}

CanonicalNest Canonicalize(LoopProgram& program, Stmt& stmt) {
  if (std::holds_alternative<Set>(stmt)) return {};  // of no loops
  if (std::optional<PerfectNest> nest = AsPerfectNest(program, stmt)) {
    const Buffer& buffer = program.buffers[nest->set.target.buffer];
    if (nest->accumulates() && SizeOf(buffer.dtype) < 4) return {};
    DropUnitLoops(program, nest->outputs, nest->set);
    std::vector<NestLoop> loops = nest->outputs;
    loops.insert(loops.end(), nest->reduced.begin(), nest->reduced.end());
    stmt = Around(loops, {nest->set});
    if (loops.empty()) return {};
    return *std::move(nest);
  }
  if (std::optional<ScatterNest> nest = AsScatterNest(program, stmt)) {
    DropUnitLoops(program, nest->loops, nest->scatter);
    stmt = Around(nest->loops, {nest->scatter});
    return *std::move(nest);
  }
  return {};
}

}  // namespace

std::vector<CanonicalNest> CanonicalizeNests(LoopProgram& program) {
  std::vector<CanonicalNest> nests;
  nests.reserve(program.body.stmts.size());
  // IsParallel looks at the program's body.
  for (Stmt& stmt : program.body.stmts) {
    nests.push_back(Canonicalize(program, stmt));
  }
  return nests;
}

std::vector<CanonicalNest> CanonicalNestsOf(LoopProgram& program) {
  std::vector<CanonicalNest> nests;
  nests.reserve(program.body.stmts.size());
  for (const Stmt& stmt : program.body.stmts) {
    Stmt canonical = stmt;
    nests.push_back(Canonicalize(program, canonical));
    if (!(canonical == stmt)) nests.back() = {};
  }
  return nests;
}

}  // namespace ocannl
