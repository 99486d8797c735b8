// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/nest_rewriter.h"

#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/cpu/verify_part.h"
#include "ocannl/core/schedule/rewrite/edit.h"

namespace ocannl {

using rewrite::NewLoops;

namespace {

// Lanes of a zero_out: a few vectors.
constexpr int64_t kZeroedAtOnce = 64;

}  // namespace

NestRewriter::NestRewriter(LoopProgram& program, Stmt nest,
                           rewrite::Legality legality, rewrite::Script* script)
    : program_(program),
      others_(std::exchange(program_.body, {})),
      rewriter_(program, script, legality) {
  rewriter_.Append(std::move(nest));
}

absl::StatusOr<std::vector<NestLoop>> NestRewriter::StripMine(
    const NestLoop& loop, int64_t size) {
  if (loop.extent <= size) return std::vector<NestLoop>{loop};
  if (loop.extent < 2 * size) {
    OCANNL_ASSIGN_OR_RETURN(const Rest rest, Cut(loop, size));
    return std::vector<NestLoop>{{loop.iterator, size}, rest.loop};
  }
  OCANNL_ASSIGN_OR_RETURN(const NewLoops made,
                          rewriter_.Split(loop.iterator, size));
  std::vector<NestLoop> strips = {{made[0], size}};
  const int64_t rest = loop.extent % size;
  if (rest > 0) strips.push_back({made[1], rest});
  return strips;
}

absl::StatusOr<NestLoop> NestRewriter::Split(const NestLoop& loop,
                                             int64_t size) {
  OCANNL_ASSIGN_OR_RETURN(const NewLoops made,
                          rewriter_.Split(loop.iterator, size));
  return NestLoop{made[0], size};
}

absl::StatusOr<NestRewriter::Rest> NestRewriter::Cut(const NestLoop& loop,
                                                     int64_t at) {
  OCANNL_ASSIGN_OR_RETURN(const auto site,
                          rewrite::FindLoop(program_, loop.iterator));
  std::vector<IteratorId> inside;
  WalkLoops(site.loop().body,
            [&](const For& inner) { inside.push_back(inner.iterator); });
  OCANNL_ASSIGN_OR_RETURN(const NewLoops made,
                          rewriter_.Cut(loop.iterator, at));
  Rest rest{{made[0], loop.extent - at}, {}};
  for (size_t k = 0; k < inside.size(); ++k) {
    rest.copies[inside[k]] = made[k + 1];
  }
  return rest;
}

absl::StatusOr<std::vector<NestLoop>> NestRewriter::Distribute(
    const NestLoop& loop) {
  OCANNL_ASSIGN_OR_RETURN(const NewLoops made,
                          rewriter_.Distribute(loop.iterator));
  std::vector<NestLoop> others;
  for (IteratorId other : made) others.push_back({other, loop.extent});
  return others;
}

absl::Status NestRewriter::Reorder(const std::vector<NestLoop>& order) {
  std::vector<IteratorId> iterators;
  for (const NestLoop& loop : order) iterators.push_back(loop.iterator);
  if (iterators.empty()) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(const auto site,
                          rewrite::FindLoop(program_, iterators[0]));
  const std::vector<IteratorId> chain = IteratorsOf(LoopChain(site.loop()));
  const bool are_in_order =
      chain.size() >= iterators.size() &&
      absl::c_equal(iterators, absl::MakeSpan(chain).first(iterators.size()));
  if (are_in_order) return absl::OkStatus();
  return rewriter_.Reorder(iterators);
}

absl::Status NestRewriter::Vectorize(const NestLoop& loop) {
  if (loop.extent == 1) return absl::OkStatus();
  return rewriter_.Vectorize(loop.iterator);
}

absl::Status NestRewriter::UnrollJam(const NestLoop& loop, int64_t factor) {
  return rewriter_.UnrollJam(loop.iterator, factor);
}

absl::Status NestRewriter::Unroll(const NestLoop& loop) {
  if (loop.extent == 1) return absl::OkStatus();
  return rewriter_.Bind(loop.iterator, LoopKind::kUnroll);
}

absl::Status NestRewriter::Parallel(const NestLoop& loop) {
  return rewriter_.Parallel(loop.iterator);
}

absl::Status NestRewriter::Privatize(BufferId buffer,
                                     const NestRegion& region) {
  return rewriter_.Privatize(program_.buffers[buffer].name, region.first,
                             region.last);
}

absl::StatusOr<std::vector<NestLoop>> NestRewriter::Pack(
    BufferId buffer, const NestRegion& region,
    const std::vector<IteratorId>& along) {
  OCANNL_ASSIGN_OR_RETURN(const NewLoops made,
                          rewriter_.Pack(program_.buffers[buffer].name,
                                         region.first, region.last, along));
  std::vector<NestLoop> loops;
  for (int64_t extent : program_.buffers.back().dims) {
    loops.push_back({made[loops.size()], extent});
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
    OCANNL_RETURN_IF_ERROR(rewriter_.Enclose(first, last));
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
    OCANNL_RETURN_IF_ERROR(rewriter_.Unroll(loop));
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
  return rewriter_.Fuse(first.iterator, second.iterator);
}

absl::Status NestRewriter::FuseWith(const std::vector<NestLoop>& loops,
                                    Stmt other,
                                    const std::vector<NestLoop>& others) {
  rewriter_.Append(std::move(other));
  const bool splits = others.size() < loops.size();
  size_t k = 0;
  for (NestLoop loop : others) {
    while (splits && loop.extent > loops[k].extent) {
      const int64_t inside = loop.extent / loops[k].extent;
      OCANNL_ASSIGN_OR_RETURN(const NestLoop part, Split(loop, inside));
      OCANNL_RETURN_IF_ERROR(Fuse(loops[k++], loop));
      loop = part;
    }
    OCANNL_RETURN_IF_ERROR(Fuse(loops[k++], loop));
  }
  return absl::OkStatus();
}

absl::StatusOr<NestLoop> NestRewriter::ZeroRows(BufferId buffer) {
  OCANNL_ASSIGN_OR_RETURN(const NewLoops made,
                          rewriter_.ZeroLoops(program_.buffers[buffer].name));
  const Dims& dims = program_.buffers[buffer].dims;
  NestLoop cells{};
  for (size_t axis = dims.size(); axis-- > 1;) {
    if (dims[axis] == 1) {
      OCANNL_RETURN_IF_ERROR(rewriter_.Unroll(made[axis]));
    } else if (!cells.iterator.valid()) {
      cells = {made[axis], dims[axis]};
    }
  }
  OCANNL_ASSIGN_OR_RETURN(const std::vector<NestLoop> strips,
                          StripMine(cells, kZeroedAtOnce));
  for (const NestLoop& strip : strips) {
    OCANNL_RETURN_IF_ERROR(Vectorize(strip));
  }
  return NestLoop{made[0], dims[0]};
}

absl::StatusOr<NestLoop> NestRewriter::Enclose(const NestLoop& loop) {
  OCANNL_ASSIGN_OR_RETURN(const NewLoops made,
                          rewriter_.Enclose(loop.iterator, loop.iterator));
  return NestLoop{made[0], 1};
}

absl::Status NestRewriter::AbsorbZeroOut(BufferId buffer, Stmt init,
                                         const NestLoop& loop) {
  std::vector<Stmt>& stmts = program_.body.stmts;
  stmts.insert(stmts.begin(), std::move(init));
  return rewriter_.AbsorbZeroOut(program_.buffers[buffer].name, loop.iterator);
}

std::optional<std::vector<NestLoop>> NestRewriter::TryTransposeRows(
    const NestLoop& rows, int64_t size, int64_t lanes) {
  rewrite::Rewriter::Savepoint before(rewriter_);
  auto transpose = [&]() -> absl::StatusOr<std::vector<NestLoop>> {
    OCANNL_ASSIGN_OR_RETURN(const NewLoops made,
                            rewriter_.Split(rows.iterator, size));
    OCANNL_RETURN_IF_ERROR(rewriter_.TransposeRows(made[0], lanes));
    OCANNL_RETURN_IF_ERROR(VerifyAlone(program_, program_.body));
    std::vector<NestLoop> loops = {{rows.iterator, rows.extent / size}};
    const int64_t rest = rows.extent % size;
    if (rest > 0) loops.push_back({made[1], rest});
    return loops;
  };
  absl::StatusOr<std::vector<NestLoop>> loops = transpose();
  if (loops.ok()) return *std::move(loops);
  before.RollBack();
  return std::nullopt;
}

void NestRewriter::MoveTo(Block& block) && {
  absl::c_move(program_.body.stmts, std::back_inserter(block.stmts));
  program_.body = std::move(others_);
}

}  // namespace ocannl
