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
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/rewrite/nests.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"

namespace ocannl::rewrite {

// `program` after each line of `script`. Error: the line that is none or that
// cannot be done, and why.
absl::StatusOr<LoopProgram> RunScript(LoopProgram program,
                                      absl::string_view script);

// Runs a script line by line. Verify has not seen what it gives, and need not
// accept it between two lines of `bind`.
class ScriptRunner {
 public:
  // Verify accepts `program`.
  explicit ScriptRunner(LoopProgram program);
  ScriptRunner(const ScriptRunner&) = delete;
  ScriptRunner& operator=(const ScriptRunner&) = delete;

  // Error, with nothing changed: the line is none, or it cannot be done.
  absl::Status Line(absl::string_view line);

  // The same of a line after which only such lines or Join follow: one nest is
  // rewritten in no time for the others.
  absl::Status LineApart(absl::string_view line);
  void Join();

  // Error: what is not right with what there is so far.
  absl::Status Verify();

  const LoopProgram& program() const { return program_; }

 private:
  absl::Status Run(absl::string_view line, bool apart);
  absl::Status Apply(const Row& row, const Arguments& arguments,
                     const std::vector<std::string>& names);

  LoopProgram program_;
  Rewriter rewriter_;
  absl::flat_hash_map<std::string, IteratorId> named_;
  std::optional<Nests> nests_;  // while the body is apart
};

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_SCRIPT_H_
