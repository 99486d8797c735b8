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

ExprId NestWriter::Remapped(ExprId value, const IteratorMap& places) {
  return RewriteLeaves(*program_, value, [&](const LeafValue& leaf) {
    return program_
        ->Read(SubstituteIndices(
            leaf, [&](Symbol symbol) { return RemappedIndex(symbol, places); }))
        .id();
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
