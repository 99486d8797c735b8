// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/tiles.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::jit {
namespace {

class TileFinder {
 public:
  TileFinder(const LoopProgram& program, Unroller& unroller)
      : program_(program), unroller_(unroller) {}

  absl::flat_hash_map<int32_t, Tile> Run(const Block& block) {
    auto nothing = [](const For&) {};
    unroller_.Walk(block, {.statement = [&](const Stmt& s) { Visit(s); },
                           .begin = nothing,
                           .end = nothing});
    for (int32_t buffer : in_memory_) tiles_.erase(buffer);
    return std::move(tiles_);
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
    std::optional<Chunk> chunk = ChunkOf(program_, unroller_, access);
    if (!chunk || !Add(tiles_[access.buffer], *chunk)) {
      in_memory_.insert(access.buffer);
    }
  }

  // False where the chunk lies across registers.
  static bool Add(Tile& tile, const Chunk& chunk) {
    auto& parts = tile.parts;
    const int64_t end = chunk.first + chunk.valid;
    auto next = parts.upper_bound(chunk.first);
    if (next != parts.begin()) {
      const Chunk& before = std::prev(next)->second.chunk;
      if (before.first + before.valid >= end) return true;
      if (before.first < chunk.first &&
          before.first + before.valid > chunk.first) {
        return false;
      }
    }
    // It takes the place of the smaller ones inside of it.
    auto it = parts.lower_bound(chunk.first);
    while (it != parts.end() && it->first < end) {
      if (it->first + it->second.chunk.valid > end) return false;
      it = parts.erase(it);
    }
    parts[chunk.first] = {.chunk = chunk};
    return true;
  }

  const LoopProgram& program_;
  Unroller& unroller_;
  absl::flat_hash_map<int32_t, Tile> tiles_;
  absl::flat_hash_set<int32_t> in_memory_;
  absl::flat_hash_map<ExprId, std::vector<Access>> reads_;
};

}  // namespace

Tile::Part& Tile::PartOf(const Chunk& chunk) {
  auto it = parts.upper_bound(chunk.first);
  CHECK(it != parts.begin());
  Part& part = std::prev(it)->second;
  CHECK(part.chunk.first + part.chunk.valid >= chunk.first + chunk.valid);
  return part;
}

absl::flat_hash_map<int32_t, Tile> FindTiles(const LoopProgram& program,
                                             const Block& block,
                                             Unroller& unroller) {
  return TileFinder(program, unroller).Run(block);
}

std::optional<Chunk> ChunkOf(const LoopProgram& program,
                             const Unroller& unroller, const Access& access) {
  const Lanes& lanes = unroller.lanes();
  auto size =
      static_cast<int64_t>(SizeOf(program.buffers[access.buffer].dtype));
  Affine place = unroller.Resolve(ByteOffset(program, access));
  int64_t stride = place.FactorOf(Iterator(lanes.iterator));
  size_t lane_terms = stride == 0 ? 0 : 1;
  if (place.terms().size() > lane_terms) return std::nullopt;
  if (stride == 0) return Chunk{place.offset() / size, 1, 1};
  if (stride != size) return std::nullopt;
  return Chunk{place.offset() / size, lanes.count, lanes.valid};
}

}  // namespace ocannl::jit
