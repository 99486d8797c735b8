// SPDX-License-Identifier: Apache-2.0
//
// Lines of scripts (core/schedule/rewrite/script.h) as data that a search
// edits, and the part of a script that the driver of rewrites accepts.
#ifndef OCANNL_TUNE_SCRIPT_LINES_H_
#define OCANNL_TUNE_SCRIPT_LINES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"
#include "ocannl/core/schedule/rewrite/script.h"

namespace ocannl::tune {

using Lines = std::vector<std::string>;  // a rewrite each

// The words of a line.
struct ParsedLine {
  std::vector<std::string> names;  // of new loops
  const rewrite::Row* row;
  std::vector<std::string> words;  // its arguments

  bool IsLoop(size_t word) const;
  // The arguments that are loops.
  std::vector<std::string> Loops() const;
  // The first of them, or "".
  std::string FirstLoop() const;
  // The argument that is a buffer, or "".
  std::string Buffer() const;
  // The position of the argument that is a number, if there is one.
  std::optional<size_t> NumberAt() const;
  std::string Text() const;
};

// nullopt: the line is not of a rewrite.
//
//   ParseLine("lane = split i1 16")->names   {"lane"}
std::optional<ParsedLine> ParseLine(absl::string_view line);

// Builds a script line by line: a line that the driver refuses is left out.
class LegalScript {
 public:
  // Verify accepts `program`.
  explicit LegalScript(const LoopProgram& program)
      : runner_(program), first_new_(NextIterator(program).index) {}

  // Applies the line, and returns whether the driver accepted it. A `sink`
  // always stays in the script: in a part of a program there may be nothing for
  // the loop to move past.
  bool Do(const std::string& line);
  void DoAll(const Lines& lines);

  // Error: the program is not valid after these lines.
  absl::Status Verify() { return runner_.Verify(); }

  const LoopProgram& program() const { return runner_.program(); }
  const Lines& lines() const { return lines_; }
  int64_t refused() const { return refused_; }

  // The number of iterations of the loop; 0: there is no such loop.
  int64_t ExtentOf(const std::string& loop) const;

  // The names of the loops of the program, outer ones first. A loop without a
  // name is listed by its iterator if it is a loop of the first program.
  std::vector<std::string> LoopNames() const;

 private:
  std::optional<IteratorId> IteratorOf(const std::string& loop) const;

  rewrite::ScriptRunner runner_;
  int32_t first_new_;  // iterators from here on are of new loops
  Lines lines_;
  int64_t refused_ = 0;
};

}  // namespace ocannl::tune

#endif  // OCANNL_TUNE_SCRIPT_LINES_H_
