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
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/rewrite/legality.h"

namespace ocannl {

// The iterators of the original nest as affine functions of the new ones.
using IteratorMap = absl::flat_hash_map<IteratorId, Affine>;

class NestWriter {
 public:
  // Adds buffers, expressions and iterators to the program; the latter from
  // its next_iterator on, beyond which it has none.
  // Rewrites of nests are appended to the script, if there is one.
  explicit NestWriter(LoopProgram* program,
                      rewrite::Legality legality = rewrite::Legality::kProve,
                      std::string* script = nullptr)
      : program_(program), legality_(legality), script_(script) {}

  LoopProgram& program() { return *program_; }

  // Of the rewrites of nests.
  rewrite::Legality legality() const { return legality_; }
  std::string* script() const { return script_; }

  // Appends a loop of `extent` iterations whose body `write` appends; gets the
  // iterator. One iteration needs no loop.
  void Loop(Block& block, LoopKind kind, int64_t extent,
            absl::FunctionRef<void(Block& body, Affine at)> write);

  // The first of `count` iterators that no other loop gets.
  IteratorId ReserveIterators(int32_t count);

  // A loop of one iteration, for statements that share private buffers.
  For UnitLoop();

  // A new buffer that no other has the name of: "acc", "acc_2", ...
  BufferId NewBuffer(const std::string& name, DType dtype, Dims dims,
                     Role role);

  // An access of the original nest, in the new one.
  Access Remapped(const Access& access, const IteratorMap& places) const;

  // The value in the new nest.
  ExprId Remapped(ExprId value, const IteratorMap& places);

  // The statement, but for those in it, in the new nest.
  void Remap(Stmt& stmt, const IteratorMap& places);

  // target := value
  static void Assign(Block& block, Access target, ExprId value);

 private:
  LoopProgram* program_;
  rewrite::Legality legality_;
  std::string* script_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_WRITER_H_
