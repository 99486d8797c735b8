// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/nest_rewriter.h"

#include <iterator>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"
#include "ocannl/core/schedule/verify_part.h"

namespace ocannl {

namespace {

std::string NamesOf(absl::Span<const IteratorId> loops) {
  return absl::StrJoin(loops, " ", [](std::string* text, IteratorId loop) {
    absl::StrAppend(text, Name(loop));
  });
}

}  // namespace

NestRewriter::NestRewriter(LoopProgram& program, Stmt nest,
                           rewrite::Legality legality, std::string* script)
    : program_(program),
      legality_(legality),
      script_(script),
      others_(std::exchange(program_.body, {})) {
  program_.body.stmts.push_back(std::move(nest));
}

template <class... Parts>
void NestRewriter::Done(const absl::Status& status, const Parts&... line) {
  CHECK_OK(status);
  if (script_ != nullptr) absl::StrAppend(script_, line..., "\n");
}

std::vector<NestLoop> NestRewriter::StripMine(const NestLoop& loop,
                                              int64_t size) {
  if (loop.extent <= size) return {loop};
  if (loop.extent < 2 * size) {
    return {{loop.iterator, size}, Cut(loop, size).loop};
  }
  std::vector<NestLoop> strips = {Split(loop, size)};
  const int64_t rest = loop.extent % size;
  if (rest > 0) strips.push_back({{strips[0].iterator.index + 1}, rest});
  return strips;
}

NestLoop NestRewriter::Split(const NestLoop& loop, int64_t size) {
  const IteratorId next = NextIterator(program_);
  Done(rewrite::Split(program_, loop.iterator, size), "split ",
       Name(loop.iterator), " ", size);
  return {next, size};
}

NestRewriter::Rest NestRewriter::Cut(const NestLoop& loop, int64_t at) {
  IteratorId next = NextIterator(program_);
  Rest rest{{next++, loop.extent - at}, {}};
  const auto site = rewrite::FindLoop(program_, loop.iterator);
  CHECK_OK(site);
  WalkLoops(site->loop().body,
            [&](const For& inner) { rest.copies[inner.iterator] = next++; });
  Done(rewrite::Cut(program_, loop.iterator, at), "cut ", Name(loop.iterator),
       " ", at);
  return rest;
}

std::vector<NestLoop> NestRewriter::Distribute(const NestLoop& loop) {
  std::vector<NestLoop> others;
  IteratorId next = NextIterator(program_);
  Done(rewrite::Distribute(program_, loop.iterator, legality_), "distribute ",
       Name(loop.iterator));
  while (next < NextIterator(program_)) others.push_back({next++, loop.extent});
  return others;
}

void NestRewriter::Reorder(const std::vector<NestLoop>& order) {
  std::vector<IteratorId> iterators;
  for (const NestLoop& loop : order) iterators.push_back(loop.iterator);
  if (iterators.empty()) return;
  const auto site = rewrite::FindLoop(program_, iterators[0]);
  CHECK_OK(site);
  const For* at = &site->loop();
  size_t k = 1;
  while (k < iterators.size() && (at = OnlyLoopIn(*at)) != nullptr &&
         at->iterator == iterators[k]) {
    ++k;
  }
  if (k == iterators.size()) return;  // they are in order
  Done(rewrite::Reorder(program_, iterators, legality_), "reorder ",
       NamesOf(iterators));
}

void NestRewriter::Vectorize(const NestLoop& loop) {
  if (loop.extent == 1) return;
  Done(rewrite::Vectorize(program_, loop.iterator, legality_), "vectorize ",
       Name(loop.iterator));
}

void NestRewriter::UnrollJam(const NestLoop& loop, int64_t factor) {
  Done(rewrite::UnrollJam(program_, loop.iterator, factor, legality_),
       "unroll_jam ", Name(loop.iterator), " ", factor);
}

void NestRewriter::Unroll(const NestLoop& loop) {
  if (loop.extent == 1) return;
  Done(rewrite::Bind(program_, loop.iterator, LoopKind::kUnroll), "bind ",
       Name(loop.iterator), " unroll");
}

void NestRewriter::Parallel(const NestLoop& loop) {
  Done(rewrite::Parallel(program_, loop.iterator, legality_), "parallel ",
       Name(loop.iterator));
}

void NestRewriter::Privatize(BufferId buffer, const NestRegion& region) {
  const std::string name = program_.buffers[buffer].name;
  Done(rewrite::Privatize(program_, name, region.first, region.last),
       "privatize ", name, " ", NamesOf({region.first, region.last}));
}

std::vector<NestLoop> NestRewriter::Pack(BufferId buffer,
                                         const NestRegion& region,
                                         const std::vector<IteratorId>& along) {
  const std::string name = program_.buffers[buffer].name;
  IteratorId next = NextIterator(program_);
  Done(rewrite::Pack(program_, name, region.first, region.last, along), "pack ",
       name, " ", NamesOf({region.first, region.last}), " ", NamesOf(along));
  std::vector<NestLoop> loops;
  for (int64_t extent : program_.buffers.back().dims) {
    loops.push_back({next++, extent});
  }
  return loops;
}

void NestRewriter::EncloseSerial() {
  // Pairs of loops, from the last one.
  std::vector<std::pair<IteratorId, IteratorId>> groups;
  bool is_parallel = true;
  for (size_t k = program_.body.stmts.size(); k-- > 0;) {
    const For& loop = std::get<For>(program_.body.stmts[k]);
    const bool was_parallel = is_parallel;
    is_parallel = loop.kind == LoopKind::kPar;
    if (is_parallel) continue;
    if (was_parallel) groups.emplace_back(loop.iterator, loop.iterator);
    groups.back().first = loop.iterator;
  }
  for (const auto& [first, last] : groups) {
    if (first == last) continue;
    Done(rewrite::Enclose(program_, first, last), "enclose ",
         NamesOf({first, last}));
  }
}

void NestRewriter::RemoveUnitLoops() {
  std::vector<IteratorId> unit_loops;
  for (const Stmt& stmt : program_.body.stmts) {
    WalkLoops(std::get<For>(stmt).body, [&](const For& loop) {
      if (loop.extent == 1) unit_loops.push_back(loop.iterator);
    });
  }
  for (IteratorId loop : unit_loops) {
    Done(rewrite::Unroll(program_, loop), "unroll ", Name(loop));
  }
}

bool NestRewriter::IsOutermost(const NestLoop& loop) const {
  return absl::c_any_of(program_.body.stmts, [&](const Stmt& stmt) {
    const For* outermost = std::get_if<For>(&stmt);
    return outermost != nullptr && outermost->iterator == loop.iterator;
  });
}

void NestRewriter::Fuse(const NestLoop& first, const NestLoop& second) {
  Done(rewrite::Fuse(program_, first.iterator, second.iterator, legality_),
       "fuse ", NamesOf({first.iterator, second.iterator}));
}

void NestRewriter::FuseWith(const std::vector<NestLoop>& loops, Stmt other,
                            const std::vector<NestLoop>& others) {
  program_.body.stmts.push_back(std::move(other));
  for (size_t k = 0; k < loops.size(); ++k) Fuse(loops[k], others[k]);
}

bool NestRewriter::TryFuse(IteratorId first, const For& second) {
  program_.body.stmts.push_back(second);
  const absl::Status status = rewrite::Fuse(program_, first, second.iterator);
  if (!status.ok()) {
    program_.body.stmts.pop_back();
    return false;
  }
  Done(status, "fuse ", NamesOf({first, second.iterator}));
  return true;
}

NestLoop NestRewriter::Enclose(const NestLoop& loop) {
  const IteratorId next = NextIterator(program_);
  Done(rewrite::Enclose(program_, loop.iterator, loop.iterator), "enclose ",
       NamesOf({loop.iterator, loop.iterator}));
  return {next, 1};
}

void NestRewriter::AbsorbZeroOut(BufferId buffer, const NestLoop& loop) {
  std::vector<Stmt>& stmts = program_.body.stmts;
  stmts.insert(stmts.begin(), ZeroOut{buffer});
  const std::string& name = program_.buffers[buffer].name;
  Done(rewrite::AbsorbZeroOut(program_, name, loop.iterator),
       "absorb_zero_out ", name, " ", Name(loop.iterator));
}

std::optional<std::vector<NestLoop>> NestRewriter::TryTransposeRows(
    const NestLoop& rows, int64_t size, int64_t lanes) {
  const Block body = program_.body;
  const auto num_buffers = static_cast<int64_t>(program_.buffers.size());
  const IteratorId row = NextIterator(program_);
  absl::Status status = rewrite::Split(program_, rows.iterator, size);
  if (status.ok()) {
    status = rewrite::TransposeRows(program_, row, lanes, legality_);
  }
  if (!status.ok() || !IsProvableAlone(program_, program_.body)) {
    program_.body = body;
    program_.buffers.erase(program_.buffers.begin() + num_buffers,
                           program_.buffers.end());
    return std::nullopt;
  }
  Done(status, "split ", Name(rows.iterator), " ", size, "\ntranspose_rows ",
       Name(row), " ", lanes);
  std::vector<NestLoop> loops = {{rows.iterator, rows.extent / size}};
  const int64_t rest = rows.extent % size;
  if (rest > 0) loops.push_back({{row.index + 1}, rest});
  return loops;
}

void NestRewriter::MoveTo(Block& block) && {
  program_.next_iterator = NextIterator(program_);
  absl::c_move(program_.body.stmts, std::back_inserter(block.stmts));
  program_.body = std::move(others_);
}

}  // namespace ocannl
