// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/select/promote.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::jit {
namespace {

// The cells, of `size` bytes, of an access at the resolved `offset`.
std::optional<CellRange> CellRangeAt(const Affine& offset, const Lanes& lanes,
                                     int64_t size) {
  const int64_t stride = offset.FactorOf(Iterator(lanes.iterator));
  const size_t lane_terms = stride == 0 ? 0 : 1;
  if (offset.terms().size() > lane_terms) return std::nullopt;
  if (stride == 0) return CellRange{offset.offset() / size, 1, 1};
  if (stride != size) return std::nullopt;
  return CellRange{offset.offset() / size, lanes.count, lanes.active};
}

class PromotionFinder {
 public:
  PromotionFinder(const LoopProgram& program, Unroller& unroller)
      : program_(program), unroller_(unroller) {}

  absl::flat_hash_map<BufferId, PromotedBuffer> Run(const Block& block) {
    WalkStmts(block, [&](const Stmt& stmt) {
      std::vector<PrivateAccess> accesses = PrivateAccesses(stmt);
      if (!accesses.empty()) accesses_[&stmt] = std::move(accesses);
    });
    if (accesses_.empty()) return {};
    auto visit = [&](const Stmt& stmt) {
      const auto accesses = accesses_.find(&stmt);
      if (accesses == accesses_.end()) return;
      for (const PrivateAccess& access : accesses->second) Touch(access);
    };
    auto nothing = [](const For&) {};
    unroller_.Walk(block,
                   {.statement = visit, .begin = nothing, .end = nothing});
    for (BufferId buffer : in_memory_) promoted_.erase(buffer);
    return std::move(promoted_);
  }

 private:
  struct PrivateAccess {
    BufferId buffer;
    Affine offset;  // in bytes, not resolved
  };

  std::vector<PrivateAccess> PrivateAccesses(const Stmt& stmt) {
    std::vector<PrivateAccess> accesses;
    auto add = [&](const Access& access) {
      if (program_.buffers[access.buffer].role != Role::kPrivate) return;
      accesses.push_back({access.buffer, ByteOffset(program_, access)});
    };
    if (const Set* set = std::get_if<Set>(&stmt)) add(set->target);
    if (const ZeroOut* zero = std::get_if<ZeroOut>(&stmt)) {
      in_memory_.insert(zero->buffer);
    }
    WalkLeaves(program_, stmt, [&](const LeafValue& leaf) {
      if (const Access* access = std::get_if<Access>(&leaf)) add(*access);
      if (const Lookup* lookup = std::get_if<Lookup>(&leaf)) {
        in_memory_.insert(lookup->cell.buffer);
        in_memory_.insert(lookup->index->buffer);
      }
    });
    return accesses;
  }

  void Touch(const PrivateAccess& access) {
    if (in_memory_.contains(access.buffer)) return;
    std::optional<CellRange> range =
        CellRangeAt(unroller_.Resolve(access.offset), unroller_.lanes(),
                    SizeOf(program_.buffers[access.buffer].dtype));
    if (!range || !Add(promoted_[access.buffer], *range)) {
      in_memory_.insert(access.buffer);
    }
  }

  // False where the range would span registers.
  static bool Add(PromotedBuffer& promoted, const CellRange& range) {
    auto& entries = promoted.entries;
    const int64_t end = range.first + range.size;
    auto next = entries.upper_bound(range.first);
    if (next != entries.begin()) {
      CellRange& before = std::prev(next)->second.range;
      // Its register has the lanes of the widest access to all of it.
      if (before.first == range.first && before.size == range.size) {
        before.lanes = std::max(before.lanes, range.lanes);
      }
      if (before.first + before.size >= end) return true;
      if (before.first < range.first &&
          before.first + before.size > range.first) {
        return false;
      }
    }
    // It takes the place of the smaller ones inside of it.
    auto it = entries.lower_bound(range.first);
    while (it != entries.end() && it->first < end) {
      if (it->first + it->second.range.size > end) return false;
      it = entries.erase(it);
    }
    entries[range.first] = {.range = range};
    return true;
  }

  const LoopProgram& program_;
  Unroller& unroller_;
  absl::flat_hash_map<BufferId, PromotedBuffer> promoted_;
  absl::flat_hash_set<BufferId> in_memory_;
  absl::flat_hash_map<const Stmt*, std::vector<PrivateAccess>> accesses_;
};

}  // namespace

PromotedBuffer::Entry& PromotedBuffer::EntryOf(const CellRange& range) {
  auto it = entries.upper_bound(range.first);
  CHECK(it != entries.begin());
  Entry& entry = std::prev(it)->second;
  CHECK(entry.range.first + entry.range.size >= range.first + range.size);
  return entry;
}

absl::flat_hash_map<BufferId, PromotedBuffer> FindPromotable(
    const LoopProgram& program, const Block& block, Unroller& unroller) {
  return PromotionFinder(program, unroller).Run(block);
}

std::optional<CellRange> CellRangeOf(const LoopProgram& program,
                                     const Unroller& unroller,
                                     const Access& access) {
  return CellRangeAt(unroller.ByteOffsetOf(access), unroller.lanes(),
                     SizeOf(program.buffers[access.buffer].dtype));
}

}  // namespace ocannl::jit
