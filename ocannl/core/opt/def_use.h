// SPDX-License-Identifier: Apache-2.0
//
// DefUse: which top-level statements of a program read and write each buffer
// (def-use chains), kept while statements are rewritten in place.
//
//   DefUse chains(program);
//   chains.Readers(t, 0, 9);    // {1, 3}: of statements 0 to 8, these read it
//   chains.NextWriter(1, t);    // 2: it has another value from there on
#ifndef OCANNL_CORE_OPT_DEF_USE_H_
#define OCANNL_CORE_OPT_DEF_USE_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/container/inlined_vector.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// What a top-level statement reads, and the buffers that it writes.
struct StmtAccesses {
  absl::InlinedVector<const Access*, 2> reads;  // in LoopProgram::leaves
  absl::InlinedVector<const Lookup*, 2> lookups;
  absl::InlinedVector<BufferId, 4> writes;
  bool locals = false;

  int64_t NumReads(BufferId buffer) const;
};

class DefUse {
 public:
  using Places = absl::InlinedVector<uint32_t, 4>;  // of statements

  // `program` outlives it, and has as many statements all the while.
  explicit DefUse(const LoopProgram& program);

  const StmtAccesses& operator[](size_t place) const {
    return accesses_[place];
  }

  // The statements from `begin` up to before `end` that read the buffer,
  // ascending.
  Places Readers(BufferId buffer, size_t begin, size_t end) const;
  // The first statement after `place` that writes the buffer; the number of
  // statements if there is none.
  size_t NextWriter(size_t place, BufferId buffer) const;

  // Call it after the statement at `place` has new values. They read what it
  // read before, and what the statement `definition` reads.
  void Update(size_t place, size_t definition);
  // The same for an assignment of one cell without lookups, in whose value that
  // of `definition` took the place of a cell of `buffer`: without a walk.
  void MoveReads(size_t definition, BufferId buffer, size_t place);

 private:
  void AddReader(size_t place, const StmtAccesses& accesses);

  const LoopProgram& program_;
  // In blocks, which fit where the assignments were, as one vector of a long
  // program does not.
  std::deque<StmtAccesses> accesses_;
  // Ascending, so that a buffer with many values is no slower. Some readers
  // read it no more.
  IdVector<BufferId, Places> readers_;
  IdVector<BufferId, Places> writers_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_OPT_DEF_USE_H_
