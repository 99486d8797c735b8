// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/row_blocks.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"

namespace ocannl {
namespace {

constexpr int64_t kCellBytes = 4;

// Adjacent statements, all of them with a row in each lane or none.
struct Stage {
  bool is_transposed;
  Block stmts;
  std::vector<BufferId> lanes;  // that the stage before has filled
};

class RowBlocker {
 public:
  RowBlocker(NestWriter& writer, const For& rows, const Target& target)
      : writer_(writer),
        rows_(rows),
        target_(target),
        lanes_(target.vector_bytes / kCellBytes) {}

  std::optional<RowBlocks> Run() {
    if (!FindStages() || !FindLanes()) return std::nullopt;
    size_ = ChooseSize();
    if (size_ == 0) return std::nullopt;
    Block block;
    const int64_t count = rows_.extent / size_;
    WriteLoop(block, count, [&](Block& body, const Affine& at) {
      for (size_t k = 0; k < stages_.size(); ++k) {
        if (stages_[k].is_transposed) {
          WriteTransposed(body, stages_[k], size_ * at);
        } else {
          WriteRows(body, k, size_ * at);
        }
      }
    });
    const int64_t rest = rows_.extent % size_;
    if (rest > 0) WriteRest(block, count * size_, rest);
    return RowBlocks{.stmts = std::move(block), .size = size_};
  }

 private:
  const LoopProgram& program() const { return writer_.program(); }

  bool IsPrivate(BufferId buffer) const {
    return program().buffers[buffer].role == Role::kPrivate;
  }

  // The assignment, alone or in a loop that halves lanes of one vector, if it
  // can have a row in each lane; else null.
  const Set* FindTransposable(const Stmt& stmt) const {
    const For* loop = std::get_if<For>(&stmt);
    if (loop != nullptr &&
        (loop->body.stmts.size() != 1 || 2 * loop->extent > lanes_)) {
      return nullptr;
    }
    const Stmt& inner = loop == nullptr ? stmt : loop->body.stmts[0];
    const Set* set = std::get_if<Set>(&inner);
    if (set == nullptr) return nullptr;
    auto fits = [&](const Access& access) {
      return IsPrivate(access.buffer) ? IsInVector(access, loop)
                                      : loop == nullptr;
    };
    bool all_fit = fits(set->target);
    WalkLeaves(program(), inner, [&](const LeafValue& leaf) {
      if (auto* access = std::get_if<Access>(&leaf)) {
        all_fit = all_fit && fits(*access);
      } else if (auto* lookup = std::get_if<Lookup>(&leaf)) {
        all_fit = all_fit && loop == nullptr &&
                  !IsPrivate(lookup->cell.buffer) &&
                  !IsPrivate(lookup->index.buffer);
      }
    });
    return all_fit ? set : nullptr;
  }

  // Whether the cell of a private buffer is among those that a vector holds.
  bool IsInVector(const Access& access, const For* loop) const {
    const Buffer& buffer = program().buffers[access.buffer];
    if (buffer.dims.size() != 1 || buffer.dims[0] < lanes_ ||
        SizeOf(buffer.dtype) != kCellBytes) {
      return false;
    }
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

  bool FindStages() {
    for (const Stmt& stmt : rows_.body.stmts) {
      const bool is_transposed = FindTransposable(stmt) != nullptr;
      if (!is_transposed && !std::holds_alternative<For>(stmt)) return false;
      if (stages_.empty() || stages_.back().is_transposed != is_transposed) {
        stages_.push_back({is_transposed, {}, {}});
      }
      stages_.back().stmts.stmts.push_back(stmt);
    }
    return true;
  }

  // Whether private buffers are lanes that one stage fills and the next one
  // takes, or are of one stage; and there are lanes.
  bool FindLanes() {
    std::map<BufferId, std::set<size_t>> users;
    for (size_t k = 0; k < stages_.size(); ++k) {
      auto use = [&](BufferId buffer) {
        if (buffer.valid() && IsPrivate(buffer)) users[buffer].insert(k);
      };
      WalkStmts(stages_[k].stmts, [&](const Stmt& stmt) {
        use(WrittenBy(program(), stmt));
        WalkReads(program(), stmt,
                  [&](const Access& read) { use(read.buffer); });
      });
    }
    bool are_lanes = false;
    for (const auto& [buffer, stages] : users) {
      const size_t first = *stages.begin();
      if (stages.size() == 1 && !stages_[first].is_transposed) continue;
      if (stages.size() != 2 || *stages.rbegin() != first + 1 ||
          stages_[first].is_transposed) {
        return false;
      }
      stages_[first + 1].lanes.push_back(buffer);
      are_lanes = true;
    }
    return are_lanes;
  }

  // Rows of a block, or 0. Two vectors of rows hide latencies that one does
  // not; L1 holds what the stages read of them, beside what they write
  // (`bazel run //experiments:bench -- --filter=softmax,layer_norm`).
  int64_t ChooseSize() const {
    std::map<BufferId, int64_t> read_bytes;  // of a row
    WalkStmts(rows_.body, [&](const Stmt& stmt) {
      WalkReads(program(), stmt, [&](const Access& read) {
        int64_t& bytes = read_bytes[read.buffer];
        bytes = std::max(bytes,
                         std::abs(StrideOf(program(), read, rows_.iterator)) *
                             SizeOfCell(program(), read));
      });
    });
    int64_t bytes = 0;
    for (const auto& [buffer, own] : read_bytes) bytes += own;
    const int64_t cache = 3 * target_.l1_bytes / 4;
    const int64_t blocks = rows_.kind == LoopKind::kPar ? target_.threads : 1;
    for (const int64_t size : {2 * lanes_, lanes_}) {
      if (rows_.extent / size >= blocks && size * bytes <= cache) return size;
    }
    return 0;
  }

  // Stage `k` for each row from `first` on. What lanes the next one takes goes
  // to a row of a buffer.
  void WriteRows(Block& block, size_t k, const Affine& first) {
    std::vector<BufferId> lanes;
    if (k + 1 < stages_.size()) lanes = stages_[k + 1].lanes;
    for (BufferId buffer : lanes) {
      rows_of_[buffer] = NewBuffer(buffer, ".rows", {size_, lanes_});
    }
    writer_.Loop(
        block, LoopKind::kFor, size_, [&](Block& row, const Affine& at) {
          WriteRow(row, stages_[k].stmts, first + at);
          for (BufferId buffer : lanes) {
            writer_.Loop(row, LoopKind::kVec, lanes_,
                         [&](Block& cells, const Affine& lane) {
                           WriteCopy(cells, {rows_of_[buffer], {at, lane}},
                                     {buffer, {lane}});
                         });
          }
        });
  }

  // The stage with the rows from `first` on as lanes.
  void WriteTransposed(Block& block, const Stage& stage, const Affine& first) {
    std::map<BufferId, BufferId> transposed;
    for (BufferId buffer : stage.lanes) {
      transposed[buffer] = NewBuffer(buffer, ".transposed", {lanes_, size_});
      WriteCells(block, lanes_,
                 [&](Block& cells, const Affine& lane, const Affine& row) {
                   WriteCopy(cells, {transposed[buffer], {lane, row}},
                             {rows_of_[buffer], {row, lane}});
                 });
    }
    for (const Stmt& stmt : stage.stmts.stmts) {
      const For* loop = std::get_if<For>(&stmt);
      const int64_t extent = loop == nullptr ? 1 : loop->extent;
      WriteCells(block, extent,
                 [&](Block& cells, const Affine& at, const Affine& row) {
                   Stmt set = loop == nullptr ? stmt : loop->body.stmts[0];
                   RewriteLeaves(writer_.program(), set, [&](LeafValue leaf) {
                     Access* access = std::get_if<Access>(&leaf);
                     if (access == nullptr) return leaf;
                     auto found = transposed.find(access->buffer);
                     if (found != transposed.end()) {
                       *access = {found->second, {access->indices[0], row}};
                     }
                     return leaf;
                   });
                   IteratorMap places = {{rows_.iterator, first + row}};
                   if (loop != nullptr) places[loop->iterator] = at;
                   writer_.Remap(set, places);
                   cells.stmts.push_back(std::move(set));
                 });
    }
  }

  // An unrolled loop over `extent`, with the rows of a block as lanes.
  void WriteCells(
      Block& block, int64_t extent,
      absl::FunctionRef<void(Block& cells, const Affine& at, const Affine& row)>
          write) {
    writer_.Loop(
        block, LoopKind::kUnroll, extent, [&](Block& lane, const Affine& at) {
          writer_.Loop(
              lane, LoopKind::kVec, size_,
              [&](Block& cells, const Affine& row) { write(cells, at, row); });
        });
  }

  // The rows that fill no block.
  void WriteRest(Block& block, int64_t first, int64_t count) {
    int32_t loops = 0;
    WalkLoops(rows_.body, [&](const For&) { ++loops; });
    const Block body = rewrite::Copy(writer_.program(), rows_.body,
                                     writer_.ReserveIterators(loops),
                                     /*copies_privates=*/true);
    WriteLoop(block, count, [&](Block& row, const Affine& at) {
      WriteRow(row, body, Affine(first) + at);
    });
  }

  // A loop of the rows' kind, even for one iteration: private buffers are of
  // one statement.
  void WriteLoop(Block& block, int64_t count,
                 absl::FunctionRef<void(Block& body, const Affine& at)> write) {
    For loop = writer_.UnitLoop();
    loop.kind = rows_.kind;
    loop.extent = count;
    write(loop.body, count == 1 ? Affine(0) : Iterator(loop.iterator));
    block.stmts.push_back(std::move(loop));
  }

  // `body` for row `row`.
  void WriteRow(Block& block, Block body, const Affine& row) {
    const IteratorMap places = {{rows_.iterator, row}};
    RewriteStmts(body, [&](Stmt& stmt) { writer_.Remap(stmt, places); });
    absl::c_move(body.stmts, std::back_inserter(block.stmts));
  }

  BufferId NewBuffer(BufferId like, absl::string_view suffix, Dims dims) {
    const Buffer& buffer = program().buffers[like];
    return writer_.NewBuffer(absl::StrCat(buffer.name, suffix), buffer.dtype,
                             std::move(dims), Role::kPrivate);
  }

  void WriteCopy(Block& block, Access to, Access from) {
    NestWriter::Assign(block, std::move(to),
                       writer_.program().Read(std::move(from)).id());
  }

  NestWriter& writer_;
  const For& rows_;
  const Target& target_;
  const int64_t lanes_;  // of a vector
  int64_t size_ = 0;     // of a block
  std::vector<Stage> stages_;
  std::map<BufferId, BufferId> rows_of_;  // of a buffer: by row and lane
};

}  // namespace

std::optional<RowBlocks> TransposeReduceRows(NestWriter& writer,
                                             const For& rows,
                                             const Target& target) {
  return RowBlocker(writer, rows, target).Run();
}

}  // namespace ocannl
