// SPDX-License-Identifier: Apache-2.0
//
// Savepoint: the state to which a program is rolled back, as in a transaction
// of a database.
//
//   Savepoint before(program);
//   before.Save(site.nest);                 a statement of the body
//   ...                                     which then changes
//   if (!status.ok()) before.RollBack();
//
// Keeps copies only of the statements and buffers that Save names, so the cost
// of changing one nest does not depend on the rest of the program.
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

  // Call it before the first change of statement `at` of the program's body or
  // of a buffer that it names. Call it too before statements appear next to it
  // or in its place.
  void Save(size_t at);
  // Called after statements were appended to the body, which stay there.
  void Appended(size_t count);
  // Save of all statements and their buffers.
  void SaveAll();

  // Restores the program as it was when this object was made. Expressions stay
  // in its pools, unused. The program may be rolled back again.
  void RollBack();
  // The same unless `status` is OK; returns it.
  absl::Status RollBackUnlessOk(absl::Status status);

 private:
  void SaveBuffersOf(const Stmt& stmt);

  LoopProgram& program_;
  const size_t num_buffers_;
  const size_t num_locals_;
  const IteratorId next_iterator_;
  bool is_saved_ = false;  // any statement
  // Those with `before_` statements in front and `behind_` ones behind.
  std::vector<Stmt> stmts_;
  size_t before_ = 0;
  size_t behind_ = 0;
  absl::flat_hash_map<BufferId, Buffer> buffers_;
};

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_SAVEPOINT_H_
