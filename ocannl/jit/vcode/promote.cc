// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/promote.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::jit {
namespace {

class PromotionFinder {
 public:
  PromotionFinder(const LoopProgram& program, Unroller& unroller)
      : program_(program), unroller_(unroller) {}

  absl::flat_hash_map<BufferId, PromotedBuffer> Run(const Block& block) {
    auto nothing = [](const For&) {};
    unroller_.Walk(block, {.statement = [&](const Stmt& s) { Visit(s); },
                           .begin = nothing,
                           .end = nothing});
    for (BufferId buffer : in_memory_) promoted_.erase(buffer);
    return std::move(promoted_);
  }

 private:
  void Visit(const Stmt& stmt) {
    if (const Set* set = std::get_if<Set>(&stmt)) Touch(set->target);
    if (const ZeroOut* zero = std::get_if<ZeroOut>(&stmt)) {
      in_memory_.insert(zero->buffer);
    }
    if (const Scatter* scatter = std::get_if<Scatter>(&stmt)) {
      TakesAddress(program_.TargetOf(*scatter));
    }
    const ExprId* value = ValueOf(stmt);
    if (value == nullptr) return;
    for (const Access& access : PrivateReads(*value)) Touch(access);
  }

  const std::vector<Access>& PrivateReads(ExprId value) {
    auto [it, inserted] = reads_.try_emplace(value);
    std::vector<Access>& reads = it->second;
    if (inserted) {
      WalkLeaves(program_, value, [&](const LeafValue& leaf) {
        const Access* access = std::get_if<Access>(&leaf);
        if (access != nullptr && IsPrivate(*access)) reads.push_back(*access);
        const Lookup* lookup = std::get_if<Lookup>(&leaf);
        if (lookup != nullptr) TakesAddress(*lookup);
      });
    }
    return reads;
  }

  void TakesAddress(const Lookup& lookup) {
    in_memory_.insert(lookup.cell.buffer);
    in_memory_.insert(lookup.index.buffer);
  }

  bool IsPrivate(const Access& access) const {
    return program_.buffers[access.buffer].role == Role::kPrivate;
  }

  void Touch(const Access& access) {
    if (!IsPrivate(access) || in_memory_.contains(access.buffer)) return;
    std::optional<CellRange> range = CellRangeOf(program_, unroller_, access);
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
  absl::flat_hash_map<ExprId, std::vector<Access>> reads_;
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
  const Lanes& lanes = unroller.lanes();
  auto size =
      static_cast<int64_t>(SizeOf(program.buffers[access.buffer].dtype));
  Affine offset = unroller.ByteOffsetOf(access);
  int64_t stride = offset.FactorOf(Iterator(lanes.iterator));
  size_t lane_terms = stride == 0 ? 0 : 1;
  if (offset.terms().size() > lane_terms) return std::nullopt;
  if (stride == 0) return CellRange{offset.offset() / size, 1, 1};
  if (stride != size) return std::nullopt;
  return CellRange{offset.offset() / size, lanes.count, lanes.active};
}

}  // namespace ocannl::jit
