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
// Names before `=` stand for the new loops from there on: first those that
// rewrites.def has words for, then copies of the loops inside, the outer ones
// first, and the loops of a copy of an array. The tail of `split` or
// `unroll_jam` may be named where there is no remainder: lines that begin with
// it then do nothing, and a region up to it ends at the loop before it. So a
// size can be changed without a change of other lines. Successive lines of
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

// What a name in a script stands for.
struct NamedLoop {
  IteratorId loop;
  bool is_empty = false;  // a remainder that is not there, behind `loop`
};
using LoopNames = absl::flat_hash_map<std::string, NamedLoop>;

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
  // What the lines so far have named.
  const LoopNames& names() const { return named_; }

 private:
  absl::Status Run(absl::string_view line, bool apart);
  absl::Status Apply(const Row& row, const Arguments& arguments,
                     const std::vector<std::string>& names);

  LoopProgram program_;
  Rewriter rewriter_;
  LoopNames named_;
  std::optional<Nests> nests_;  // while the body is apart
};

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_SCRIPT_H_
