// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/row_blocks.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/nest.h"
#include "ocannl/core/schedule/rewrite/edit.h"

namespace ocannl {
namespace {

constexpr int64_t kCellBytes = 4;

// Statements side by side, all of them for a row in each lane or none.
struct Phase {
  bool is_turned;
  absl::Span<const Stmt> stmts;
  std::vector<int32_t> lanes;  // buffers that the phase before has filled
};

class RowBlocker {
 public:
  RowBlocker(NestWriter& writer, const For& rows, const Target& target)
      : writer_(writer),
        rows_(rows),
        target_(target),
        lanes_(target.vector_bytes / kCellBytes) {}

  std::optional<Block> Run() {
    if (!FindPhases() || !FindLanes()) return std::nullopt;
    size_ = ChooseSize();
    if (size_ == 0) return std::nullopt;
    Block block;
    const int64_t count = rows_.extent / size_;
    WriteLoop(block, rows_.kind, count, [&](Block& body, const Affine& at) {
      for (size_t k = 0; k < phases_.size(); ++k) {
        phases_[k].is_turned ? WriteTurned(body, phases_[k], size_ * at)
                             : WriteRows(body, k, size_ * at);
      }
    });
    const int64_t rest = rows_.extent % size_;
    if (rest > 0) WriteRest(block, count * size_, rest);
    return block;
  }

 private:
  const LoopProgram& program() const { return writer_.program(); }

  bool IsPrivate(int32_t buffer) const {
    return program().buffers[buffer].role == Role::kPrivate;
  }

  // The assignment, with the loop around it if it halves lanes of one vector;
  // null: it is neither.
  const Set* FindTurned(const Stmt& stmt) const {
    const For* loop = std::get_if<For>(&stmt);
    if (loop != nullptr && loop->body.stmts.size() != 1) return nullptr;
    const Stmt& inner = loop == nullptr ? stmt : loop->body.stmts[0];
    const Set* set = std::get_if<Set>(&inner);
    if (set == nullptr) return nullptr;
    bool fits = loop == nullptr || IsPrivate(set->target.buffer);
    auto visit = [&](const Access& access) {
      if (IsPrivate(access.buffer)) {
        fits = fits && IsInVector(access, loop);
      } else {
        fits = fits && loop == nullptr;
      }
    };
    visit(set->target);
    WalkReads(program(), inner, visit);
    return fits ? set : nullptr;
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
            const bool is_own = loop != nullptr &&
                                symbol.kind == Symbol::kIterator &&
                                symbol.number == loop->iterator;
            return is_own ? Affine(at) : Affine(symbol);
          });
      if (!cell.is_constant() || cell.offset() < 0 || cell.offset() >= lanes_) {
        return false;
      }
    }
    return true;
  }

  bool FindPhases() {
    const std::vector<Stmt>& stmts = rows_.body.stmts;
    for (size_t k = 0; k < stmts.size(); ++k) {
      const bool is_turned = FindTurned(stmts[k]) != nullptr;
      if (!is_turned && !std::holds_alternative<For>(stmts[k])) return false;
      if (phases_.empty() || phases_.back().is_turned != is_turned) {
        phases_.push_back({is_turned, absl::MakeSpan(stmts).subspan(k, 0), {}});
      }
      Span& phase = phases_.back().stmts;
      phase = absl::MakeSpan(phase.data(), phase.size() + 1);
    }
    return true;
  }

  // Whether private buffers are lanes that one phase fills and the next
  // one takes, or are of one phase; and there are lanes.
  bool FindLanes() {
    std::map<int32_t, std::set<size_t>> users;
    for (size_t k = 0; k < phases_.size(); ++k) {
      auto use = [&](int32_t buffer) {
        if (buffer >= 0 && IsPrivate(buffer)) users[buffer].insert(k);
      };
      const Span& stmts = phases_[k].stmts;
      WalkStmts({{stmts.begin(), stmts.end()}}, [&](const Stmt& stmt) {
        use(WrittenBy(program(), stmt));
        WalkReads(program(), stmt,
                  [&](const Access& read) { use(read.buffer); });
      });
    }
    bool are_lanes = false;
    for (const auto& [buffer, phases] : users) {
      const size_t first = *phases.begin();
      if (phases.size() == 1 && !phases_[first].is_turned) continue;
      if (phases.size() != 2 || *phases.rbegin() != first + 1 ||
          phases_[first].is_turned) {
        return false;
      }
      phases_[first + 1].lanes.push_back(buffer);
      are_lanes = true;
    }
    return are_lanes;
  }

  // Rows of a block, or 0: so many that no row waits, if the first cache holds
  // what the phases read of them.
  int64_t ChooseSize() const {
    std::map<int32_t, int64_t> read_bytes;  // of a row, by buffer
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
    for (const int64_t size : {2 * lanes_, lanes_}) {
      if (rows_.extent >= size && size * bytes <= 3 * target_.l1_bytes / 4) {
        return size;
      }
    }
    return 0;
  }

  // Phase `k` for each row from `first` on. What lanes the next one takes goes
  // to a row of a buffer.
  void WriteRows(Block& block, size_t k, const Affine& first) {
    std::vector<int32_t> lanes;
    if (k + 1 < phases_.size()) lanes = phases_[k + 1].lanes;
    for (int32_t buffer : lanes) {
      rows_of_[buffer] = NewBuffer("rows", buffer, {size_, lanes_});
    }
    writer_.Loop(
        block, LoopKind::kFor, size_, [&](Block& row, const Affine& at) {
          Block body{{phases_[k].stmts.begin(), phases_[k].stmts.end()}};
          Append(row, std::move(body), first + at);
          for (int32_t buffer : lanes) {
            writer_.Loop(
                row, LoopKind::kVec, lanes_,
                [&](Block& cells, const Affine& lane) {
                  Copy(cells, {rows_of_[buffer], {at, lane}}, {buffer, {lane}});
                });
          }
        });
  }

  // The phase with the rows from `first` on as lanes.
  void WriteTurned(Block& block, const Phase& phase, const Affine& first) {
    std::map<int32_t, int32_t> turned;
    for (int32_t buffer : phase.lanes) {
      turned[buffer] = NewBuffer("turned", buffer, {lanes_, size_});
      ForCells(block, lanes_, [&](Block& cells, Affine lane, Affine row) {
        Copy(cells, {turned[buffer], {lane, row}},
             {rows_of_[buffer], {row, lane}});
      });
    }
    for (const Stmt& stmt : phase.stmts) {
      const For* loop = std::get_if<For>(&stmt);
      const int64_t extent = loop == nullptr ? 1 : loop->extent;
      ForCells(block, extent, [&](Block& cells, Affine at, Affine row) {
        Stmt set = *FindTurned(stmt);
        RewriteLeaves(writer_.program(), set, [&](LeafValue leaf) {
          Access* access = std::get_if<Access>(&leaf);
          if (access == nullptr) return leaf;
          auto found = turned.find(access->buffer);
          if (found != turned.end()) {
            *access = {found->second, {access->indices[0], row}};
          }
          return leaf;
        });
        Places places = {{rows_.iterator, first + row}};
        if (loop != nullptr) places[loop->iterator] = at;
        writer_.Move(set, places);
        cells.stmts.push_back(std::move(set));
      });
    }
  }

  // Unrolled loops over `extent`, with the rows of a block as lanes.
  template <class F>
  void ForCells(Block& block, int64_t extent, F write) {
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
    Block body = rewrite::Copy(writer_.program(), rows_.body,
                               writer_.ReserveIterators(loops),
                               /*copies_privates=*/true);
    WriteLoop(block, LoopKind::kFor, count, [&](Block& row, const Affine& at) {
      Append(row, std::move(body), Affine(first) + at);
    });
  }

  // A loop even for one iteration: private buffers are of one statement.
  template <class F>
  void WriteLoop(Block& block, LoopKind kind, int64_t count, F write) {
    For loop = writer_.Wrapper();
    loop.kind = kind;
    loop.extent = count;
    write(loop.body, count == 1 ? Affine(0) : Iterator(loop.iterator));
    block.stmts.push_back(std::move(loop));
  }

  // The statements for row `row`.
  void Append(Block& block, Block body, const Affine& row) {
    const Places places = {{rows_.iterator, row}};
    RewriteStmts(body, [&](Stmt& stmt) { writer_.Move(stmt, places); });
    std::move(body.stmts.begin(), body.stmts.end(),
              std::back_inserter(block.stmts));
  }

  int32_t NewBuffer(const char* name, int32_t like, Dims dims) {
    return writer_.NewBuffer(name, program().buffers[like].dtype,
                             std::move(dims), Role::kPrivate);
  }

  void Copy(Block& block, Access to, Access from) {
    NestWriter::Assign(block, std::move(to),
                       writer_.program().Read(std::move(from)).id());
  }

  using Span = absl::Span<const Stmt>;

  NestWriter& writer_;
  const For& rows_;
  const Target& target_;
  const int64_t lanes_;  // of a vector
  int64_t size_ = 0;     // of a block
  std::vector<Phase> phases_;
  std::map<int32_t, int32_t> rows_of_;  // of a buffer: by row and lane
};

}  // namespace

std::optional<Block> BlockRows(NestWriter& writer, const For& rows,
                               const Target& target) {
  return RowBlocker(writer, rows, target).Run();
}

}  // namespace ocannl
