// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/nest_rewriter.h"

#include <iterator>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"
#include "ocannl/core/schedule/rewrite/savepoint.h"
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
absl::Status NestRewriter::Done(absl::Status status, const Parts&... line) {
  if (status.ok() && script_ != nullptr)
    absl::StrAppend(script_, line..., "\n");
  return status;
}

absl::StatusOr<std::vector<NestLoop>> NestRewriter::StripMine(
    const NestLoop& loop, int64_t size) {
  if (loop.extent <= size) return std::vector<NestLoop>{loop};
  if (loop.extent < 2 * size) {
    OCANNL_ASSIGN_OR_RETURN(const Rest rest, Cut(loop, size));
    return std::vector<NestLoop>{{loop.iterator, size}, rest.loop};
  }
  OCANNL_ASSIGN_OR_RETURN(const NestLoop strip, Split(loop, size));
  std::vector<NestLoop> strips = {strip};
  const int64_t rest = loop.extent % size;
  if (rest > 0) strips.push_back({{strip.iterator.index + 1}, rest});
  return strips;
}

absl::StatusOr<NestLoop> NestRewriter::Split(const NestLoop& loop,
                                             int64_t size) {
  const IteratorId next = NextIterator(program_);
  OCANNL_RETURN_IF_ERROR(Done(rewrite::Split(program_, loop.iterator, size),
                              "split ", Name(loop.iterator), " ", size));
  return NestLoop{next, size};
}

absl::StatusOr<NestRewriter::Rest> NestRewriter::Cut(const NestLoop& loop,
                                                     int64_t at) {
  IteratorId next = NextIterator(program_);
  Rest rest{{next++, loop.extent - at}, {}};
  OCANNL_ASSIGN_OR_RETURN(const auto site,
                          rewrite::FindLoop(program_, loop.iterator));
  WalkLoops(site.loop().body,
            [&](const For& inner) { rest.copies[inner.iterator] = next++; });
  OCANNL_RETURN_IF_ERROR(Done(rewrite::Cut(program_, loop.iterator, at), "cut ",
                              Name(loop.iterator), " ", at));
  return rest;
}

absl::StatusOr<std::vector<NestLoop>> NestRewriter::Distribute(
    const NestLoop& loop) {
  std::vector<NestLoop> others;
  IteratorId next = NextIterator(program_);
  OCANNL_RETURN_IF_ERROR(
      Done(rewrite::Distribute(program_, loop.iterator, legality_),
           "distribute ", Name(loop.iterator)));
  while (next < NextIterator(program_)) others.push_back({next++, loop.extent});
  return others;
}

absl::Status NestRewriter::Reorder(const std::vector<NestLoop>& order) {
  std::vector<IteratorId> iterators;
  for (const NestLoop& loop : order) iterators.push_back(loop.iterator);
  if (iterators.empty()) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(const auto site,
                          rewrite::FindLoop(program_, iterators[0]));
  const For* at = &site.loop();
  size_t k = 1;
  while (k < iterators.size() && (at = OnlyLoopIn(*at)) != nullptr &&
         at->iterator == iterators[k]) {
    ++k;
  }
  if (k == iterators.size()) return absl::OkStatus();  // they are in order
  return Done(rewrite::Reorder(program_, iterators, legality_), "reorder ",
              NamesOf(iterators));
}

absl::Status NestRewriter::Vectorize(const NestLoop& loop) {
  if (loop.extent == 1) return absl::OkStatus();
  return Done(rewrite::Vectorize(program_, loop.iterator, legality_),
              "vectorize ", Name(loop.iterator));
}

absl::Status NestRewriter::UnrollJam(const NestLoop& loop, int64_t factor) {
  return Done(rewrite::UnrollJam(program_, loop.iterator, factor, legality_),
              "unroll_jam ", Name(loop.iterator), " ", factor);
}

absl::Status NestRewriter::Unroll(const NestLoop& loop) {
  if (loop.extent == 1) return absl::OkStatus();
  return Done(rewrite::Bind(program_, loop.iterator, LoopKind::kUnroll),
              "bind ", Name(loop.iterator), " unroll");
}

absl::Status NestRewriter::Parallel(const NestLoop& loop) {
  return Done(rewrite::Parallel(program_, loop.iterator, legality_),
              "parallel ", Name(loop.iterator));
}

absl::Status NestRewriter::Privatize(BufferId buffer,
                                     const NestRegion& region) {
  const std::string name = program_.buffers[buffer].name;
  return Done(rewrite::Privatize(program_, name, region.first, region.last),
              "privatize ", name, " ", NamesOf({region.first, region.last}));
}

absl::StatusOr<std::vector<NestLoop>> NestRewriter::Pack(
    BufferId buffer, const NestRegion& region,
    const std::vector<IteratorId>& along) {
  const std::string name = program_.buffers[buffer].name;
  IteratorId next = NextIterator(program_);
  OCANNL_RETURN_IF_ERROR(Done(
      rewrite::Pack(program_, name, region.first, region.last, along), "pack ",
      name, " ", NamesOf({region.first, region.last}), " ", NamesOf(along)));
  std::vector<NestLoop> loops;
  for (int64_t extent : program_.buffers.back().dims) {
    loops.push_back({next++, extent});
  }
  return loops;
}

absl::Status NestRewriter::EncloseSerial() {
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
    OCANNL_RETURN_IF_ERROR(Done(rewrite::Enclose(program_, first, last),
                                "enclose ", NamesOf({first, last})));
  }
  return absl::OkStatus();
}

absl::Status NestRewriter::RemoveUnitLoops() {
  std::vector<IteratorId> unit_loops;
  for (const Stmt& stmt : program_.body.stmts) {
    WalkLoops(std::get<For>(stmt).body, [&](const For& loop) {
      if (loop.extent == 1) unit_loops.push_back(loop.iterator);
    });
  }
  for (IteratorId loop : unit_loops) {
    OCANNL_RETURN_IF_ERROR(
        Done(rewrite::Unroll(program_, loop), "unroll ", Name(loop)));
  }
  return absl::OkStatus();
}

bool NestRewriter::IsOutermost(const NestLoop& loop) const {
  return absl::c_any_of(program_.body.stmts, [&](const Stmt& stmt) {
    const For* outermost = std::get_if<For>(&stmt);
    return outermost != nullptr && outermost->iterator == loop.iterator;
  });
}

absl::Status NestRewriter::Fuse(const NestLoop& first, const NestLoop& second) {
  return Done(
      rewrite::Fuse(program_, first.iterator, second.iterator, legality_),
      "fuse ", NamesOf({first.iterator, second.iterator}));
}

absl::Status NestRewriter::FuseWith(const std::vector<NestLoop>& loops,
                                    Stmt other,
                                    const std::vector<NestLoop>& others) {
  program_.body.stmts.push_back(std::move(other));
  for (size_t k = 0; k < loops.size(); ++k) {
    OCANNL_RETURN_IF_ERROR(Fuse(loops[k], others[k]));
  }
  return absl::OkStatus();
}

bool NestRewriter::TryFuse(IteratorId first, const For& second) {
  program_.body.stmts.push_back(second);
  const bool fuses = Done(rewrite::Fuse(program_, first, second.iterator),
                          "fuse ", NamesOf({first, second.iterator}))
                         .ok();
  if (!fuses) program_.body.stmts.pop_back();
  return fuses;
}

absl::StatusOr<NestLoop> NestRewriter::Enclose(const NestLoop& loop) {
  const IteratorId next = NextIterator(program_);
  OCANNL_RETURN_IF_ERROR(
      Done(rewrite::Enclose(program_, loop.iterator, loop.iterator), "enclose ",
           NamesOf({loop.iterator, loop.iterator})));
  return NestLoop{next, 1};
}

absl::Status NestRewriter::AbsorbZeroOut(BufferId buffer,
                                         const NestLoop& loop) {
  std::vector<Stmt>& stmts = program_.body.stmts;
  stmts.insert(stmts.begin(), ZeroOut{buffer});
  const std::string& name = program_.buffers[buffer].name;
  return Done(rewrite::AbsorbZeroOut(program_, name, loop.iterator),
              "absorb_zero_out ", name, " ", Name(loop.iterator));
}

std::optional<std::vector<NestLoop>> NestRewriter::TryTransposeRows(
    const NestLoop& rows, int64_t size, int64_t lanes) {
  rewrite::Savepoint before(program_);
  before.SaveAll();
  const IteratorId row = NextIterator(program_);
  absl::Status status = rewrite::Split(program_, rows.iterator, size);
  if (status.ok()) {
    status = rewrite::TransposeRows(program_, row, lanes, legality_);
  }
  if (status.ok()) status = VerifyAlone(program_, program_.body);
  if (!before.RollBackUnlessOk(status).ok()) return std::nullopt;
  Done(status, "split ", Name(rows.iterator), " ", size, "\ntranspose_rows ",
       Name(row), " ", lanes)
      .IgnoreError();
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
