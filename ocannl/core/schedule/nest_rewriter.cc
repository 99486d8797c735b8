// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/nest_rewriter.h"

#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/unverified.h"

namespace ocannl {

namespace rewrites = rewrite::unverified;

NestRewriter::NestRewriter(LoopProgram& program, Stmt nest)
    : program_(program), others_(std::exchange(program.body, {})) {
  program_.body.stmts.push_back(std::move(nest));
}

std::vector<NestLoop> NestRewriter::StripMine(const NestLoop& loop,
                                              int64_t size) {
  if (loop.extent <= size) return {loop};
  if (loop.extent < 2 * size) {
    return {{loop.iterator, size}, Cut(loop, size)};
  }
  IteratorId next = NextIterator(program_);
  CHECK_OK(rewrites::Split(program_, loop.iterator, size));
  std::vector<NestLoop> strips = {{next++, size}};
  const int64_t rest = loop.extent % size;
  if (rest > 0) strips.push_back({next, rest});
  return strips;
}

NestLoop NestRewriter::Cut(const NestLoop& loop, int64_t at) {
  const IteratorId next = NextIterator(program_);
  CHECK_OK(rewrites::Cut(program_, loop.iterator, at));
  return {next, loop.extent - at};
}

NestLoop NestRewriter::Distribute(const NestLoop& loop) {
  const IteratorId next = NextIterator(program_);
  CHECK_OK(rewrites::Distribute(program_, loop.iterator));
  return {next, loop.extent};
}

void NestRewriter::Reorder(const std::vector<NestLoop>& order) {
  std::vector<IteratorId> iterators;
  for (const NestLoop& loop : order) iterators.push_back(loop.iterator);
  CHECK_OK(rewrites::Reorder(program_, iterators));
}

void NestRewriter::Vectorize(const NestLoop& loop) {
  CHECK_OK(rewrites::Vectorize(program_, loop.iterator));
}

void NestRewriter::UnrollJam(const NestLoop& loop, int64_t factor) {
  CHECK_OK(rewrites::UnrollJam(program_, loop.iterator, factor));
}

void NestRewriter::Unroll(const NestLoop& loop) {
  CHECK_OK(rewrites::Bind(program_, loop.iterator, LoopKind::kUnroll));
}

void NestRewriter::Parallel(const NestLoop& loop) {
  CHECK_OK(rewrites::Parallel(program_, loop.iterator));
}

bool NestRewriter::IsOutermost(const NestLoop& loop) const {
  return absl::c_any_of(program_.body.stmts, [&](const Stmt& stmt) {
    const For* outermost = std::get_if<For>(&stmt);
    return outermost != nullptr && outermost->iterator == loop.iterator;
  });
}

bool NestRewriter::Fuse(IteratorId first, const For& second) {
  program_.body.stmts.push_back(second);
  if (rewrites::Fuse(program_, first, second.iterator).ok()) return true;
  program_.body.stmts.pop_back();
  return false;
}

void NestRewriter::MoveTo(Block& block) && {
  program_.next_iterator = NextIterator(program_);
  absl::c_move(program_.body.stmts, std::back_inserter(block.stmts));
  program_.body = std::move(others_);
}

}  // namespace ocannl
