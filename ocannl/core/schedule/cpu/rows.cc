// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/rows.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/opt/cost.h"
#include "ocannl/core/schedule/cpu/map.h"
#include "ocannl/core/schedule/cpu/nest_rewriter.h"
#include "ocannl/core/schedule/cpu/tiling/plan.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl {
namespace {

// Nests ahead where a map looks for the sum that it starts.
constexpr size_t kMaxInitDistance = 64;

// Of the lanes that are transposed.
constexpr int64_t kCellBytes = 4;

bool Reduces(const LoopProgram& program, const For& loop) {
  bool reduces = false;
  WalkStmts(loop.body, [&](const Stmt& stmt) {
    const Set* set = std::get_if<Set>(&stmt);
    reduces |= set != nullptr &&
               program.buffers[set->target.buffer].role == Role::kPrivate;
  });
  return reduces;
}

// Whether lowering may have made the loop: others are scheduled by hand.
bool IsUnscheduled(const For& rows) {
  bool is_unscheduled = rows.kind == LoopKind::kFor;
  WalkLoops(rows.body, [&](const For& loop) {
    is_unscheduled &=
        loop.kind == LoopKind::kFor || loop.kind == LoopKind::kVec;
  });
  return is_unscheduled;
}

// A loop over rows that reduces each, or assigns to its cells.
struct Member {
  const For* loop;
  const PerfectNest* map;  // with the rows as its outermost loop, or null

  NestLoop rows() const { return {loop->iterator, loop->extent}; }
};

class RowFuser {
 public:
  RowFuser(LoopProgram& program, const WaitingNests& nests,
           const Target& target)
      : program_(program), nests_(nests), target_(target) {}

  std::optional<FusedRows> Fuse() {
    const std::optional<Member> first = AsMember(nests_[0]);
    if (!first) return std::nullopt;
    rewrite::Script script;
    NestRewriter rewriter(program_, *first->loop, rewrite::Legality::kProve,
                          &script);
    std::vector<Member> members = {*first};
    for (size_t k = 1; k < nests_.size(); ++k) {
      const std::optional<Member> next = AsMember(nests_[k]);
      if (AreInits(next, k) ||
          !rewriter.FuseWith({first->rows()}, *next->loop, {next->rows()})
               .ok()) {
        break;
      }
      members.push_back(*next);
    }
    const bool is_fused =
        members.size() > 1 && absl::c_any_of(members, [](const Member& member) {
          return member.map == nullptr;
        });
    Block block;
    std::move(rewriter).MoveTo(block);
    if (!is_fused) return std::nullopt;
    FusedRows rows{.loop = std::get<For>(std::move(block.stmts[0])),
                   .count = members.size(),
                   .maps = {},
                   .is_parallel = Cycles(members) > kMinParallelCycles,
                   .script = std::move(script)};
    for (const Member& member : members) {
      if (member.map == nullptr) continue;
      PerfectNest map = *member.map;
      map.outputs.erase(map.outputs.begin());
      if (FindLaneLoop(program_, map) >= 0) rows.maps.push_back(std::move(map));
    }
    return rows;
  }

 private:
  std::optional<Member> AsMember(const WaitingNest& waiting) const {
    const For* loop = std::get_if<For>(&waiting.stmt);
    if (loop == nullptr || waiting.is_alone) return std::nullopt;
    const auto* nest = std::get_if<PerfectNest>(&waiting.nest);
    if (nest != nullptr) {
      const bool is_map =
          !nest->accumulates() && nest->outputs[0].iterator == loop->iterator;
      return is_map ? std::optional<Member>({loop, nest}) : std::nullopt;
    }
    // The program's body is not there while nests are rewritten; its private
    // buffers are of one statement each.
    if (loop->extent == 1 || !Reduces(program_, *loop) ||
        !IsUnscheduled(*loop) || !IsParallel(program_, *loop)) {
      return std::nullopt;
    }
    return Member{loop, nullptr};
  }

  // Whether all from `member`, nests_[k], up to the next one that is no member
  // say where sums start, as an accumulation will absorb (absorb_zero_out.cc).
  bool AreInits(std::optional<Member> member, size_t k) const {
    while (member) {
      if (member->map == nullptr ||
          !IsInit(k, member->map->set.target.buffer)) {
        return false;
      }
      member = ++k < nests_.size() ? AsMember(nests_[k]) : std::nullopt;
    }
    return true;
  }

  // Whether the next nest that names the buffer behind nests_[k] accumulates
  // in all of its cells.
  bool IsInit(size_t k, BufferId buffer) const {
    const size_t end = std::min(nests_.size(), k + kMaxInitDistance);
    for (size_t next = k + 1; next < end; ++next) {
      if (!absl::c_linear_search(nests_[next].effects.buffers(), buffer)) {
        continue;
      }
      const auto* sum = std::get_if<PerfectNest>(&nests_[next].nest);
      return sum != nullptr && sum->accumulates() &&
             sum->set.target.buffer == buffer &&
             rewrite::CoversBuffer(program_, sum->set.target, sum->outputs);
    }
    return false;
  }

  // About how long all of them take.
  double Cycles(const std::vector<Member>& members) {
    double cycles = 0;
    for (const Member& member : members) {
      Count(member.loop->body, static_cast<double>(member.loop->extent),
            cycles);
    }
    return cycles;
  }

  void Count(const Block& block, double times, double& cycles) {
    const double lanes = static_cast<double>(target_.vector_bytes) / 4;
    for (const Stmt& stmt : block.stmts) {
      if (const For* loop = std::get_if<For>(&stmt)) {
        Count(loop->body, times * static_cast<double>(loop->extent), cycles);
      } else if (const ExprId* value = ValueOf(stmt)) {
        cycles += times / lanes * (2 + CostOf(program_, *value));
      }
    }
  }

  LoopProgram& program_;
  const WaitingNests& nests_;
  const Target& target_;
};

// Rows of a block whose reductions are transposed, or 0. Two vectors of rows
// hide latencies that one does not; L1 holds what the rows read, beside what
// they write (`bazel run //experiments:bench -- --filter=softmax,layer_norm`).
int64_t RowsOfBlock(const LoopProgram& program, const FusedRows& rows,
                    const Target& target) {
  std::map<BufferId, int64_t> read_bytes;  // of a row
  bool can_transpose = true;               // private cells all have kCellBytes
  WalkStmts(rows.loop.body, [&](const Stmt& stmt) {
    WalkReads(program, stmt, [&](const Access& read) {
      const Buffer& buffer = program.buffers[read.buffer];
      can_transpose &=
          buffer.role != Role::kPrivate || SizeOf(buffer.dtype) == kCellBytes;
      int64_t& bytes = read_bytes[read.buffer];
      bytes = std::max(bytes,
                       std::abs(StrideOf(program, read, rows.loop.iterator)) *
                           SizeOfCell(program, read));
    });
  });
  if (!can_transpose) return 0;
  int64_t bytes = 0;
  for (const auto& [buffer, own] : read_bytes) bytes += own;
  const int64_t cache = 3 * target.l1_bytes / 4;
  const int64_t blocks = rows.is_parallel ? target.threads : 1;
  const int64_t lanes = target.vector_bytes / kCellBytes;
  for (const int64_t size : {2 * lanes, lanes}) {
    if (rows.loop.extent / size >= blocks && size * bytes <= cache) return size;
  }
  return 0;
}

}  // namespace

size_t CountPlainRows(const LoopProgram& program, const WaitingNests& nests) {
  const For* first = std::get_if<For>(&nests[0].stmt);
  if (first == nullptr) return 1;
  for (size_t k = 0; k < nests.size(); ++k) {
    const For* loop = std::get_if<For>(&nests[k].stmt);
    if (loop == nullptr || loop->extent != first->extent) return k;
    const bool is_plain = std::holds_alternative<PerfectNest>(nests[k].nest);
    if (!is_plain && Reduces(program, *loop)) return 0;
  }
  return nests.size();
}

std::optional<FusedRows> FuseRows(LoopProgram& program,
                                  const WaitingNests& nests,
                                  const Target& target) {
  return RowFuser(program, nests, target).Fuse();
}

absl::Status ScheduleRows(NestRewriter& rewriter, const FusedRows& rows,
                          const Target& target) {
  const NestLoop loop = {rows.loop.iterator, rows.loop.extent};
  if (rows.is_parallel) OCANNL_RETURN_IF_ERROR(rewriter.Parallel(loop));
  for (const PerfectNest& map : rows.maps) {
    OCANNL_RETURN_IF_ERROR(ScheduleMap(rewriter, map, {}, target));
  }
  const int64_t lanes = target.vector_bytes / kCellBytes;
  const int64_t size = RowsOfBlock(rewriter.program(), rows, target);
  if (size == 0) return absl::OkStatus();
  const std::optional<std::vector<NestLoop>> blocks =
      rewriter.TryTransposeRows(loop, size, lanes);
  const bool has_rest = blocks && blocks->size() > 1;
  return rows.is_parallel && has_rest ? rewriter.Parallel(blocks->back())
                                      : absl::OkStatus();
}

}  // namespace ocannl
