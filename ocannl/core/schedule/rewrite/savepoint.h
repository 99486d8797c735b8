// SPDX-License-Identifier: Apache-2.0
//
// Savepoint: what to roll a program back to, as of a database's transaction.
//
//   Savepoint before(program);
//   before.Save(site.nest);                 a statement of the body
//   ...                                     which then changes
//   if (!status.ok()) before.RollBack();
//
// Keeps copies of what is named to it, so that a change of one nest takes no
// time for the rest of the program.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_SAVEPOINT_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_SAVEPOINT_H_

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::rewrite {

class Savepoint {
 public:
  // The program outlives this object. New buffers and locals may be added to it
  // without a call of Save.
  explicit Savepoint(LoopProgram& program);
  Savepoint(const Savepoint&) = delete;
  Savepoint& operator=(const Savepoint&) = delete;

  // Call it before statement `at` of the program's body, or a buffer that it
  // names, changes for the first time, or before statements appear next to it
  // or in its place.
  void Save(size_t at);
  // The same of all statements and their buffers.
  void SaveAll();

  // The program is as it was when this was made, but for expressions, which
  // stay in its pools, unused. It may be rolled back again.
  void RollBack();
  // The same unless `status` is OK; returns it.
  absl::Status RollBackUnlessOk(absl::Status status);

 private:
  void SaveBuffersOf(const Stmt& stmt);

  LoopProgram& program_;
  const size_t num_buffers_;
  const size_t num_locals_;
  const IteratorId next_iterator_;
  // Those with `before_` statements in front and `behind_` ones behind.
  std::vector<Stmt> stmts_;
  size_t before_ = 0;
  size_t behind_ = 0;
  absl::flat_hash_map<BufferId, Buffer> buffers_;
};

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_SAVEPOINT_H_
