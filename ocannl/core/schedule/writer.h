// SPDX-License-Identifier: Apache-2.0
//
// NestWriter: writes the statements of a scheduled nest. The iterators of the
// original nest are affine in new ones, as strip mining and tiling make them.
#ifndef OCANNL_CORE_SCHEDULE_WRITER_H_
#define OCANNL_CORE_SCHEDULE_WRITER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// The iterators of the original nest as affine functions of the new ones.
using IteratorMap = absl::flat_hash_map<IteratorId, Affine>;

// Iterations of a loop of the original nest, from `first` on.
struct LoopRange {
  IteratorId iterator;
  Affine first;
  int64_t count;
};

class NestWriter {
 public:
  // Adds buffers, expressions and iterators to the program; the latter from
  // its next_iterator on, beyond which it has none.
  explicit NestWriter(LoopProgram* program) : program_(program) {}

  LoopProgram& program() { return *program_; }

  // Appends a loop of `extent` iterations whose body `write` appends; gets the
  // iterator. One iteration needs no loop.
  void Loop(Block& block, LoopKind kind, int64_t extent,
            absl::FunctionRef<void(Block& body, Affine at)> write);

  // Strip mining: a loop over strips of `size` iterations, and the remainder as
  // a shorter one. `write` gets the start of a strip and its length.
  void StripMine(
      Block& block, LoopKind kind, int64_t extent, int64_t size,
      absl::FunctionRef<void(Block& body, Affine at, int64_t count)> write);

  // Loops over `ranges` around what `write` appends, the innermost one
  // strip-mined by `size`. `write` gets the map of the outer ones and the
  // strip.
  void StripMineNest(
      Block& block, LoopKind kind, absl::Span<const LoopRange> ranges,
      int64_t size, const IteratorMap& places,
      absl::FunctionRef<void(Block& body, const IteratorMap& places,
                             const LoopRange& strip)>
          write);

  // The same, with unrolled loops over the strips; and such a loop.
  void Unrolled(
      Block& block, absl::Span<const LoopRange> ranges, int64_t size,
      const IteratorMap& places,
      absl::FunctionRef<void(Block& body, const IteratorMap& places)> write);
  void Unrolled(
      Block& block, const LoopRange& strip, const IteratorMap& places,
      absl::FunctionRef<void(Block& body, const IteratorMap& places)> write);

  // The first of `count` iterators that no other loop gets.
  IteratorId ReserveIterators(int32_t count);

  // A loop of one iteration, for statements that share private buffers.
  For UnitLoop();

  // A new buffer that no other has the name of: "acc", "acc_2", ...
  BufferId NewBuffer(const std::string& name, DType dtype, Dims dims,
                     Role role);

  // An access of the original nest, in the new one.
  Access Remapped(const Access& access, const IteratorMap& places) const;

  // The value in the new nest; reads of an access in `replaced` (of the
  // original nest) become reads of its second.
  ExprId Remapped(ExprId value, const IteratorMap& places,
                  const std::vector<std::pair<Access, Access>>& replaced);

  // The statement, but for those in it, in the new nest.
  void Remap(Stmt& stmt, const IteratorMap& places);

  // target := value
  static void Assign(Block& block, Access target, ExprId value);

 private:
  LoopProgram* program_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_WRITER_H_
