// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/writer.h"

#include <algorithm>
#include <utility>

#include "ocannl/core/loop/walk.h"

namespace ocannl {

void NestWriter::Loop(Block& block, LoopKind kind, int64_t extent,
                      absl::FunctionRef<void(Block& body, Affine at)> write) {
  if (extent == 1) return write(block, 0);
  For loop{kind, ReserveIterators(1), extent, {}};
  write(loop.body, Iterator(loop.iterator));
  block.stmts.push_back(std::move(loop));
}

void NestWriter::StripMine(
    Block& block, LoopKind kind, int64_t extent, int64_t size,
    absl::FunctionRef<void(Block& body, Affine at, int64_t count)> write) {
  size = std::min(size, extent);
  Loop(block, kind, extent / size,
       [&](Block& body, Affine at) { write(body, size * at, size); });
  if (extent % size != 0) write(block, extent / size * size, extent % size);
}

void NestWriter::StripMineNest(
    Block& block, LoopKind kind, absl::Span<const LoopRange> ranges,
    int64_t size, const IteratorMap& places,
    absl::FunctionRef<void(Block& body, const IteratorMap& places,
                           const LoopRange& strip)>
        write) {
  const LoopRange& range = ranges[0];
  if (ranges.size() == 1) {
    return StripMine(
        block, kind, range.count, size,
        [&](Block& body, const Affine& at, int64_t count) {
          write(body, places, {range.iterator, range.first + at, count});
        });
  }
  Loop(block, kind, range.count, [&](Block& body, const Affine& at) {
    IteratorMap inner = places;
    inner[range.iterator] = range.first + at;
    StripMineNest(body, LoopKind::kFor, ranges.subspan(1), size, inner, write);
  });
}

void NestWriter::Unrolled(
    Block& block, absl::Span<const LoopRange> ranges, int64_t size,
    const IteratorMap& places,
    absl::FunctionRef<void(Block& body, const IteratorMap& places)> write) {
  StripMineNest(
      block, LoopKind::kFor, ranges, size, places,
      [&](Block& body, const IteratorMap& outer, const LoopRange& strip) {
        Unrolled(body, strip, outer, write);
      });
}

void NestWriter::Unrolled(
    Block& block, const LoopRange& strip, const IteratorMap& places,
    absl::FunctionRef<void(Block& body, const IteratorMap& places)> write) {
  Loop(block, LoopKind::kUnroll, strip.count,
       [&](Block& body, const Affine& at) {
         IteratorMap inner = places;
         inner[strip.iterator] = strip.first + at;
         write(body, inner);
       });
}

IteratorId NestWriter::ReserveIterators(int32_t count) {
  const IteratorId first = program_->next_iterator;
  program_->next_iterator.index += count;
  return first;
}

For NestWriter::UnitLoop() {
  return {LoopKind::kFor, ReserveIterators(1), 1, {}};
}

BufferId NestWriter::NewBuffer(const std::string& name, DType dtype, Dims dims,
                               Role role) {
  return program_->buffers.Add({.name = UnusedName(*program_, name),
                                .dtype = dtype,
                                .dims = std::move(dims),
                                .role = role});
}

namespace {

Affine RemappedIndex(const Affine& index, const IteratorMap& places) {
  return index.Substitute([&](Symbol symbol) -> Affine {
    if (symbol.kind == Symbol::kStatic) return symbol;
    auto it = places.find(symbol.iterator());
    return it == places.end() ? Affine(symbol) : it->second;
  });
}

}  // namespace

Access NestWriter::Remapped(const Access& access,
                            const IteratorMap& places) const {
  Access moved{.buffer = access.buffer, .indices = {}};
  for (const Affine& index : access.indices) {
    moved.indices.push_back(RemappedIndex(index, places));
  }
  return moved;
}

ExprId NestWriter::Remapped(
    ExprId value, const IteratorMap& places,
    const std::vector<std::pair<Access, Access>>& replaced) {
  auto moved = [&](const Access& access) {
    for (const auto& [from, to] : replaced) {
      if (access == from) return to;
    }
    return Remapped(access, places);
  };
  return RewriteLeaves(*program_, value, [&](LeafValue leaf) {
    if (auto* index = std::get_if<Affine>(&leaf)) {
      *index = RemappedIndex(*index, places);
    } else if (auto* access = std::get_if<Access>(&leaf)) {
      *access = moved(*access);
    } else if (auto* lookup = std::get_if<Lookup>(&leaf)) {
      lookup->cell = Remapped(lookup->cell, places);
      lookup->index = moved(lookup->index);
    }
    return program_->Read(std::move(leaf)).id();
  });
}

void NestWriter::Remap(Stmt& stmt, const IteratorMap& places) {
  RewriteLeaves(*program_, stmt, [&](LeafValue leaf) {
    return SubstituteIndices(std::move(leaf), [&](Symbol symbol) {
      return RemappedIndex(symbol, places);
    });
  });
}

void NestWriter::Assign(Block& block, Access target, ExprId value) {
  block.stmts.push_back(Set{.target = std::move(target), .value = value});
}

}  // namespace ocannl
