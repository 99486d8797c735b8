// SPDX-License-Identifier: Apache-2.0
//
// TransposeRows: outer-loop vectorization (Nuzman and Zaks, PACT 2008) of what
// ends the reductions of rows: each lane does what halves the lanes of one row,
// in the place of a horizontal reduction per row, whose latencies would add up.
//
//   for i2 { lanes of x[i2, ..]; halve them to 16, 8, .. 1; s[i2] := ...;
//            vec i4 { y[i2, i4] := x[i2, i4] / s[i2]; } }
//     ->  for i2 { lanes of x[i2, ..]; halve them to 16; vec i5 { rows := .. }
//     }
//         unroll i6 { vec i7 { transposed[i6, i7] := rows[i7, i6]; } }
//         halve transposed to 8, .. 1; vec i8 { s[i8] := ...; }
//         for i9 { vec i4 { y[i9, i4] := x[i9, i4] / s[i9]; } }
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl::rewrite {
namespace {

// Adjacent statements, all of them with a row in each lane or none.
struct RowStage {
  bool is_transposed;
  Block body;
  std::vector<BufferId> lanes;  // that the stage before has filled
};

class RowTransposer {
 public:
  RowTransposer(LoopProgram& program, const For& rows, int64_t lanes)
      : program_(program), rows_(rows), lanes_(lanes) {}

  // Error: a statement that is no loop, and that no lane can do for one row.
  absl::Status FindStages() {
    for (const Stmt& stmt : rows_.body.stmts) {
      if (std::holds_alternative<Comment>(stmt)) {
        if (stages_.empty()) stages_.push_back({false, {}, {}});
        stages_.back().body.stmts.push_back(stmt);
        continue;
      }
      const bool is_transposed = IsForLanes(stmt);
      if (!is_transposed && !std::holds_alternative<For>(stmt)) {
        const Set* set = std::get_if<Set>(&stmt);
        return UserError(
            set == nullptr
                ? "a statement"
                : absl::StrCat("`", PrintAccess(program_, set->target), "`"),
            " in ", Name(rows_.iterator),
            " is of no loop, nor can a lane compute it for one row: of private",
            " buffers that takes the first ", lanes_, " cells");
      }
      if (stages_.empty() || stages_.back().is_transposed != is_transposed) {
        stages_.push_back({is_transposed, {}, {}});
      }
      stages_.back().body.stmts.push_back(stmt);
    }
    return absl::OkStatus();
  }

  // Error: private buffers that are neither of one stage, nor lanes that one
  // fills and the next one takes; or there are no lanes.
  absl::Status FindLanes() {
    std::map<BufferId, std::set<size_t>> users;
    for (size_t k = 0; k < stages_.size(); ++k) {
      auto use = [&](BufferId buffer) {
        if (buffer.valid() && IsPrivate(buffer)) users[buffer].insert(k);
      };
      WalkStmts(stages_[k].body, [&](const Stmt& stmt) {
        use(WrittenBy(program_, stmt));
        WalkReads(program_, stmt,
                  [&](const Access& read) { use(read.buffer); });
      });
    }
    bool are_lanes = false;
    for (const auto& [buffer, stages] : users) {
      const size_t first = *stages.begin();
      if (stages.size() == 1 && !stages_[first].is_transposed) continue;
      if (stages.size() != 2 || *stages.rbegin() != first + 1 ||
          stages_[first].is_transposed) {
        return UserError("`", program_.buffers[buffer].name,
                         "` is not filled by loops right before what halves",
                         " its first ", lanes_, " cells, and used there");
      }
      stages_[first + 1].lanes.push_back(buffer);
      are_lanes = true;
    }
    return are_lanes ? absl::OkStatus()
                     : UserError("nothing in ", Name(rows_.iterator),
                                 " halves ", lanes_, " cells or fewer");
  }

  std::vector<Stmt> Write() {
    for (size_t k = 0; k < stages_.size(); ++k) {
      stages_[k].is_transposed ? WriteTransposed(stages_[k]) : WriteRows(k);
    }
    return std::move(written_);
  }

 private:
  bool IsPrivate(BufferId buffer) const {
    return program_.buffers[buffer].role == Role::kPrivate;
  }

  // Whether it is an assignment, alone or in a loop that halves lanes of one
  // vector, of which each lane can do that of one row.
  bool IsForLanes(const Stmt& stmt) const {
    const For* loop = std::get_if<For>(&stmt);
    if (loop != nullptr &&
        (loop->body.stmts.size() != 1 || 2 * loop->extent > lanes_)) {
      return false;
    }
    const Stmt& inner = loop == nullptr ? stmt : loop->body.stmts[0];
    const Set* set = std::get_if<Set>(&inner);
    if (set == nullptr) return false;
    auto fits = [&](const Access& access) {
      return IsPrivate(access.buffer) ? IsInVector(access, loop)
                                      : loop == nullptr;
    };
    bool all_fit = fits(set->target);
    WalkLeaves(program_, inner, [&](const LeafValue& leaf) {
      if (auto* access = std::get_if<Access>(&leaf)) {
        all_fit = all_fit && fits(*access);
      } else if (auto* lookup = std::get_if<Lookup>(&leaf)) {
        all_fit = all_fit && loop == nullptr &&
                  !IsPrivate(lookup->cell.buffer) &&
                  !IsPrivate(lookup->index->buffer);
      }
    });
    return all_fit;
  }

  // Whether the cell of a private buffer is among the first `lanes_`.
  bool IsInVector(const Access& access, const For* loop) const {
    const Buffer& buffer = program_.buffers[access.buffer];
    if (buffer.dims.size() != 1 || buffer.dims[0] < lanes_) return false;
    for (int64_t at : {int64_t{0}, loop == nullptr ? 0 : loop->extent - 1}) {
      const Affine cell =
          access.indices[0].Substitute([&](Symbol symbol) -> Affine {
            const bool is_own =
                loop != nullptr && symbol == Iterator(loop->iterator);
            return is_own ? Affine(at) : Affine(symbol);
          });
      if (!cell.is_constant() || cell.offset() < 0 || cell.offset() >= lanes_) {
        return false;
      }
    }
    return true;
  }

  // Stage `k` of each row. The lanes that the next stage takes go to a row of a
  // buffer (array expansion).
  void WriteRows(size_t k) {
    For rows = NewLoop(LoopKind::kFor, rows_.extent);
    const Affine row = Iterator(rows.iterator);
    rows.body = std::move(stages_[k].body);
    Substitute(program_, rows.body, rows_.iterator, row);
    if (k + 1 < stages_.size()) {
      for (BufferId lanes : stages_[k + 1].lanes) {
        rows_of_[lanes] = NewBuffer(lanes, ".rows", {rows_.extent, lanes_});
        For copy = NewLoop(LoopKind::kVec, lanes_);
        const Affine lane = Iterator(copy.iterator);
        copy.body.stmts.push_back(
            Copied({rows_of_[lanes], {row, lane}}, {lanes, {lane}}));
        rows.body.stmts.push_back(std::move(copy));
      }
    }
    written_.push_back(std::move(rows));
  }

  // The stage with the rows as lanes.
  void WriteTransposed(const RowStage& stage) {
    std::map<BufferId, BufferId> transposed;
    for (BufferId lanes : stage.lanes) {
      const BufferId copy =
          NewBuffer(lanes, ".transposed", {lanes_, rows_.extent});
      transposed[lanes] = copy;
      WriteCells(lanes_, [&](const Affine& lane, const Affine& row) {
        return Copied({copy, {lane, row}}, {rows_of_[lanes], {row, lane}});
      });
    }
    for (const Stmt& stmt : stage.body.stmts) {
      if (std::holds_alternative<Comment>(stmt)) {
        written_.push_back(stmt);
        continue;
      }
      const For* loop = std::get_if<For>(&stmt);
      const int64_t extent = loop == nullptr ? 1 : loop->extent;
      WriteCells(extent, [&](const Affine& at, const Affine& row) {
        Stmt cell = loop == nullptr ? stmt : loop->body.stmts[0];
        RewriteLeaves(program_, cell, [&](LeafValue leaf) {
          Access* access = std::get_if<Access>(&leaf);
          if (access == nullptr) return leaf;
          auto found = transposed.find(access->buffer);
          if (found != transposed.end()) {
            *access = {found->second, {access->indices[0], row}};
          }
          return leaf;
        });
        IteratorMap values = {{rows_.iterator, row}};
        if (loop != nullptr) values[loop->iterator] = at;
        Substitute(program_, cell, values);
        return cell;
      });
    }
  }

  // An unrolled loop over `extent`, with the rows as lanes.
  void WriteCells(
      int64_t extent,
      absl::FunctionRef<Stmt(const Affine& at, const Affine& row)> cell) {
    if (extent == 1) return written_.push_back(Lanes(0, cell));
    For unrolled = NewLoop(LoopKind::kUnroll, extent);
    unrolled.body.stmts.push_back(Lanes(Iterator(unrolled.iterator), cell));
    written_.push_back(std::move(unrolled));
  }

  For Lanes(const Affine& at,
            absl::FunctionRef<Stmt(const Affine& at, const Affine& row)> cell) {
    For lanes = NewLoop(LoopKind::kVec, rows_.extent);
    lanes.body.stmts.push_back(cell(at, Iterator(lanes.iterator)));
    return lanes;
  }

  For NewLoop(LoopKind kind, int64_t extent) {
    return {kind, program_.FreshIterator(), extent, {}};
  }

  BufferId NewBuffer(BufferId like, absl::string_view suffix, Dims dims) {
    const Buffer& buffer = program_.buffers[like];
    return AddBuffer(program_, absl::StrCat(buffer.name, suffix), buffer.dtype,
                     std::move(dims), Role::kPrivate);
  }

  Stmt Copied(Access to, Access from) {
    return Set{.target = std::move(to),
               .value = program_.Read(std::move(from)).id()};
  }

  LoopProgram& program_;
  const For& rows_;
  const int64_t lanes_;
  std::vector<RowStage> stages_;
  std::map<BufferId, BufferId> rows_of_;  // lanes, by row and lane
  std::vector<Stmt> written_;
};

}  // namespace

absl::Status TransposeRows(LoopProgram& program, IteratorId loop, int64_t lanes,
                           Legality legality) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  const For rows = site.loop();
  if (site.in_body()) {
    return UserError(Name(loop), " is in no loop, where private buffers of ",
                     "several loops could be; split it first");
  }
  if (rows.kind != LoopKind::kFor ||
      std::clamp<int64_t>(rows.extent, 2, kMostLanes) != rows.extent ||
      std::clamp<int64_t>(lanes, 2, kMostLanes) != lanes) {
    return UserError("rows become lanes in a `for` loop, of 2 to ", kMostLanes,
                     " rows, of which 2 to ", kMostLanes,
                     " lanes each are halved");
  }
  if (legality == Legality::kProve) {
    OCANNL_RETURN_IF_ERROR(
        CheckNone(WhyNotParallel(program, rows), program,
                  absl::StrCat("rows of ", Name(loop), " depend on others")));
  }
  RowTransposer transposer(program, rows, lanes);
  OCANNL_RETURN_IF_ERROR(transposer.FindStages());
  OCANNL_RETURN_IF_ERROR(transposer.FindLanes());
  LoopRegion{site.block, site.at, site.at, false}.Replace(transposer.Write());
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite
