// SPDX-License-Identifier: Apache-2.0
//
// NestWriter: writes the statements of a scheduled nest, in which the loops of
// the original nest are sums of new ones.
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

// What iterators of the original nest are in the new one.
using Places = absl::flat_hash_map<int32_t, Affine>;

// Iterations of a loop of the original nest, from `first` on.
struct LoopRange {
  int32_t iterator;
  Affine first;
  int64_t count;
};

class NestWriter {
 public:
  // Adds buffers and expressions to the program.
  explicit NestWriter(LoopProgram* program);

  LoopProgram& program() { return *program_; }

  // Appends a loop of `extent` iterations whose body `write` appends; gets the
  // iterator. One iteration needs no loop.
  void Loop(Block& block, LoopKind kind, int64_t extent,
            absl::FunctionRef<void(Block& body, Affine at)> write);

  // The same for `first + i` where i goes in steps of `size`; the last one may
  // be shorter. `write` gets what to add to, how many come at once and the
  // start.
  void Strips(
      Block& block, LoopKind kind, int64_t extent, int64_t size,
      absl::FunctionRef<void(Block& body, Affine at, int64_t count)> write);

  // Loops over `ranges` around what `write` appends, the innermost one in
  // strips of `size`. `write` gets the places of the outer ones and the strip.
  void StripNest(Block& block, LoopKind kind,
                 absl::Span<const LoopRange> ranges, int64_t size,
                 const Places& places,
                 absl::FunctionRef<void(Block& body, const Places& places,
                                        const LoopRange& strip)>
                     write);

  // The same, with unrolled loops over the strips; and such a loop.
  void Unrolled(
      Block& block, absl::Span<const LoopRange> ranges, int64_t size,
      const Places& places,
      absl::FunctionRef<void(Block& body, const Places& places)> write);
  void Unrolled(
      Block& block, const LoopRange& strip, const Places& places,
      absl::FunctionRef<void(Block& body, const Places& places)> write);

  // The first of `count` iterators that no other loop gets.
  int32_t ReserveIterators(int32_t count);

  // A loop of one iteration, for statements that belong together.
  For Wrapper();

  // A new buffer that no other has the name of: "acc", "acc_2", ...
  int32_t NewBuffer(const std::string& name, DType dtype, Dims dims, Role role);

  // Cells of the original nest, in the new one.
  Access Moved(const Access& access, const Places& places) const;

  // The value in the new nest; reads of `replaced` (cells of the original
  // nest) become reads of what stands beside them.
  ExprId Moved(ExprId value, const Places& places,
               const std::vector<std::pair<Access, Access>>& replaced);

  // The statement, but for those in it, in the new nest.
  void Move(Stmt& stmt, const Places& places);

  // target := value
  static void Assign(Block& block, Access target, ExprId value);

 private:
  LoopProgram* program_;
  int32_t next_iterator_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_WRITER_H_
