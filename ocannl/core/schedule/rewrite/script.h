// SPDX-License-Identifier: Apache-2.0
//
// Rewrites as text, one a line or with semicolons between:
//
//   column = split i2 16          # i2 goes over strips, `column` over a strip
//   reorder i2 i1 i3 column
//   vectorize column
//   row = unroll_jam i1 6
//   privatize y i3
//   pack b i1
//   parallel i2
//   bind i1 grid; bind column thread
//
// A name before `=` stands for a new loop from there on. `split` and
// `unroll_jam` accept a second name, after a comma, for the loop over the
// remainder; `distribute` accepts a name for each new loop. Successive lines of
// `bind` are one rewrite.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_SCRIPT_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_SCRIPT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/rewrite/nests.h"
#include "ocannl/core/schedule/rewrite/savepoint.h"

namespace ocannl::rewrite {

// `program` after each line of `script`. Error: the line that is none or that
// cannot be done, and why.
absl::StatusOr<LoopProgram> RunScript(LoopProgram program,
                                      absl::string_view script);

// Runs a script line by line. Verify has not seen what it gives, and need not
// accept it between two lines of `bind`.
class ScriptRunner {
 public:
  // What to roll a few lines back to: the program (savepoint.h), the script and
  // its names. The runner outlives it.
  class Savepoint;

  // Verify accepts `program`.
  explicit ScriptRunner(LoopProgram program) : program_(std::move(program)) {}
  ScriptRunner(const ScriptRunner&) = delete;
  ScriptRunner& operator=(const ScriptRunner&) = delete;

  // Error, with nothing changed: the line is none, or it cannot be done.
  absl::Status Line(absl::string_view line);

  // The same of a line after which only such lines or Join follow: one nest is
  // rewritten in no time for the others. There is no Savepoint.
  absl::Status LineApart(absl::string_view line);
  void Join();

  // Error: what is not right with what there is so far.
  absl::Status Verify();

  // A rewrite takes as long as the program is. So a planner of one nest after
  // the other has only a few of them in the body, while others wait elsewhere:
  // takes the first `count` statements of the body, of which no savepoint is to
  // know; appends some; has new loops numbered from `next` on at least.
  std::vector<Stmt> Take(size_t count);
  void Append(std::vector<Stmt> stmts);
  void set_next_iterator(IteratorId next) { program_.next_iterator = next; }

  const LoopProgram& program() const { return program_; }
  const std::string& script() const { return script_; }  // the lines so far

 private:
  using LoopNames = absl::flat_hash_map<std::string, IteratorId>;

  absl::Status Run(absl::string_view line, bool apart);

  // Has the savepoints save what a rewrite of these loops may change; of none:
  // all.
  void SaveNestsOf(absl::Span<const IteratorId> loops,
                   absl::Span<rewrite::Savepoint* const> savepoints);

  LoopProgram program_;
  std::string script_;
  LoopNames named_;
  std::vector<Savepoint*> savepoints_;  // those that there are
  std::optional<Nests> nests_;          // while the body is apart
};

class ScriptRunner::Savepoint {
 public:
  explicit Savepoint(ScriptRunner& runner);
  Savepoint(const Savepoint&) = delete;
  Savepoint& operator=(const Savepoint&) = delete;
  ~Savepoint();

  // The runner is as it was when the savepoint was made. It may roll back
  // again.
  void RollBack();

 private:
  friend class ScriptRunner;

  ScriptRunner& runner_;
  rewrite::Savepoint program_;
  const size_t script_size_;
  const LoopNames named_;
};

// A row of rewrites.def.
struct RewriteForm {
  absl::string_view name;
  absl::string_view arguments;  // a letter each
  bool keeps_bits;              // of what the program computes
};
std::vector<RewriteForm> RewriteForms();

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_SCRIPT_H_
