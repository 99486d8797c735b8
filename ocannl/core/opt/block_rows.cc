// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/opt/block_rows.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/opt/dead_code.h"
#include "ocannl/core/opt/row_groups.h"

namespace ocannl {
namespace {

using Names = absl::flat_hash_set<std::string>;

// Writes what a group does for the rows from `lo` up to before `hi`.
class BlockWriter {
 public:
  BlockWriter(LoopProgram& program, const RowGroup& group, Block& to,
              Names& made)
      : program_(program), group_(group), to_(to), made_(made) {}

  void Write(int64_t lo, int64_t hi) {
    lo_ = lo;
    hi_ = hi;
    for (const RowPart& part : group_.parts) {
      const Stmt& stmt = program_.body.stmts[part.stmt];
      privates_.clear();
      values_.clear();
      if (const auto* zero = std::get_if<ZeroOut>(&stmt)) {
        WriteZeroOut(zero->buffer);
      } else if (part.rows.fine.valid() ? TakeRows(part.rows)
                                        : TakeGrain(part.rows)) {
        Copy({{stmt}}, to_);
      }
    }
  }

 private:
  void WriteZeroOut(BufferId buffer) {
    const RowAxis& axis = *group_.space.AxisOf(buffer);
    if (axis.grain == 1) {
      return to_.stmts.push_back(ZeroOut{CopyOf(buffer, lo_, hi_ - lo_)});
    }
    const int64_t grains = program_.buffers[buffer].dims[axis.axis];
    for (int64_t k = 0; k < grains; ++k) {
      const int64_t first = axis.offset + k * axis.grain;
      if (first < lo_ || first >= hi_) continue;
      to_.stmts.push_back(ZeroOut{CopyOf(buffer, k, 1)});
    }
  }

  // Which iterations are those of the block. False: none.
  bool TakeRows(const RowLoops& rows) {
    const int64_t first = std::max(lo_, rows.offset);
    count_ = std::min(hi_, rows.offset + rows.count) - first;
    if (count_ <= 0) return false;
    int64_t at = first - rows.offset;
    if (rows.coarse.valid()) {
      values_[rows.coarse] = at / rows.grain;
      at %= rows.grain;
    }
    fine_ = rows.fine;
    first_ = at;
    if (count_ == 1) values_[rows.fine] = at;
    return true;
  }

  // The same of the grain that ends in the block.
  bool TakeGrain(const RowLoops& rows) {
    fine_ = {};
    const int64_t grain = (hi_ - rows.offset) / rows.grain - 1;
    if (hi_ < rows.offset || grain < 0 || grain >= rows.count / rows.grain ||
        rows.offset + rows.grain * (grain + 1) <= lo_) {
      return false;
    }
    values_[rows.coarse] = grain;
    return true;
  }

  void Copy(const Block& from, Block& to) {
    for (const Stmt& stmt : from.stmts) {
      if (const For* loop = std::get_if<For>(&stmt)) {
        CopyLoop(*loop, to);
        continue;
      }
      Stmt copy = stmt;
      if (auto* zero = std::get_if<ZeroOut>(&copy)) {
        zero->buffer = PrivateOf(zero->buffer);
      }
      RewriteLeaves(program_, copy, [&](LeafValue leaf) {
        leaf = SubstituteIndices(std::move(leaf), [&](Symbol symbol) -> Affine {
          const auto value = symbol.kind == Symbol::kIterator
                                 ? values_.find(symbol.iterator())
                                 : values_.end();
          return value == values_.end() ? Affine(symbol) : value->second;
        });
        if (auto* access = std::get_if<Access>(&leaf)) Rebase(*access);
        if (auto* lookup = std::get_if<Lookup>(&leaf)) {
          Rebase(lookup->cell);
          Rebase(lookup->index.Mutable());
        }
        return leaf;
      });
      to.stmts.push_back(std::move(copy));
    }
  }

  void CopyLoop(const For& loop, Block& to) {
    const bool is_known = values_.contains(loop.iterator);
    if (is_known && loop.body.stmts.size() == 1) return Copy(loop.body, to);
    For copy{loop.kind, program_.FreshIterator(), loop.extent, {}};
    if (is_known) {  // one statement still, as its private buffers need
      copy.extent = 1;
      Copy(loop.body, copy.body);
      return to.stmts.push_back(std::move(copy));
    }
    Affine value = Iterator(copy.iterator);
    if (loop.iterator == fine_) {
      copy.extent = count_;
      value.AddOffset(first_);
    }
    values_[loop.iterator] = std::move(value);
    Copy(loop.body, copy.body);
    to.stmts.push_back(std::move(copy));
  }

  // The cell in the memory of the block.
  void Rebase(Access& access) {
    if (IsOfNest(program_.buffers[access.buffer].role)) {
      access.buffer = PrivateOf(access.buffer);
      return;
    }
    if (!absl::c_linear_search(group_.temps, access.buffer)) return;
    const RowAxis& axis = *group_.space.AxisOf(access.buffer);
    Affine& index = access.indices[axis.axis];
    const int64_t first = axis.grain == 1 ? lo_ : index.offset();
    access.buffer =
        CopyOf(access.buffer, first, axis.grain == 1 ? hi_ - lo_ : 1);
    index.AddOffset(-first);
  }

  // Its cells from `first` on, `count` of them, on the axis with rows.
  BufferId CopyOf(BufferId buffer, int64_t first, int64_t count) {
    BufferId& copy = copies_[{buffer, first}];
    if (copy.valid()) return copy;
    Buffer block = program_.buffers[buffer];
    block.name = program_.UnusedName(absl::StrCat(block.name, ".rows"));
    block.dims[group_.space.AxisOf(buffer)->axis] = count;
    made_.insert(block.name);
    return copy = program_.buffers.Add(std::move(block));
  }

  BufferId PrivateOf(BufferId buffer) {
    BufferId& copy = privates_[buffer];
    if (copy.valid()) return copy;
    Buffer own = program_.buffers[buffer];
    own.name = program_.UnusedName(own.name);
    return copy = program_.buffers.Add(std::move(own));
  }

  LoopProgram& program_;
  const RowGroup& group_;
  Block& to_;
  Names& made_;
  int64_t lo_ = 0, hi_ = 0;
  // Of the statement that is copied.
  IteratorId
      fine_;  // its loop over rows does `count_` of them from `first_` on
  int64_t first_ = 0, count_ = 0;
  absl::flat_hash_map<IteratorId, Affine> values_;
  absl::flat_hash_map<BufferId, BufferId> privates_;
  // Of a buffer and its first cell there.
  absl::flat_hash_map<std::pair<BufferId, int64_t>, BufferId> copies_;
};

// The body in blocks. The temps of blocks are `made`.
void WriteBlocks(LoopProgram& program, const std::vector<RowGroup>& groups,
                 Names& made) {
  CountIterators(program);
  Block body;
  size_t at = 0;
  auto keep = [&](size_t k) { body.stmts.push_back(program.body.stmts[k]); };
  for (const RowGroup& group : groups) {
    for (; at < group.begin; ++at) keep(at);
    absl::c_for_each(group.before, keep);
    BlockWriter writer(program, group, body, made);
    for (int64_t lo = 0; lo < group.rows; lo += group.block) {
      writer.Write(lo, std::min(lo + group.block, group.rows));
    }
    absl::c_for_each(group.after, keep);
    at = group.end;
  }
  for (; at < program.body.stmts.size(); ++at) keep(at);
  program.body = std::move(body);
}

}  // namespace

LoopProgram BlockRows(LoopProgram program, const BlockRowsOptions& options) {
  // Blocks of one axis may be large enough to be cut on the next one.
  std::optional<Names> names;  // of the temps to cut; none: all
  BlockRowsOptions left = options;
  for (int round = 0; round < 2; ++round) {
    std::vector<BufferId> large;
    for (BufferId id : program.buffers.ids()) {
      const Buffer& buffer = program.buffers[id];
      if (buffer.role == Role::kTemp &&
          (!names || names->contains(buffer.name)) &&
          ByteSize(buffer.dtype, buffer.dims).value_or(0) >
              options.most_bytes) {
        large.push_back(id);
      }
    }
    const std::vector<RowGroup> groups = FindRowGroups(program, large, left);
    if (groups.empty()) break;
    int64_t blocks = 1;
    for (const RowGroup& group : groups) {
      blocks = std::max(blocks, (group.rows - 1) / group.block + 1);
    }
    left.most_blocks = std::max<int64_t>(1, left.most_blocks / blocks);
    WriteBlocks(program, groups, names.emplace());
    program = EliminateDeadCode(std::move(program));
  }
  return program;
}

}  // namespace ocannl
