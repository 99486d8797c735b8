// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/rewrite/script.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/analysis/verify_kernels.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/index/affine.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/loop/words.h"

namespace ocannl::rewrite {
namespace {

std::vector<std::string> Words(absl::string_view text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \t,"), absl::SkipEmpty());
}

// What Halide, TVM and textbooks call a rewrite, and the line that does it.
struct Synonym {
  absl::string_view names;  // with blanks between
  absl::string_view line;
};

constexpr Synonym kSynonyms[] = {
    {"tile", "x = split i0 8; y = split i1 8; reorder i0 i1 x y"},
    {"swap interchange permute exchange", "reorder i1 i0"},
    {"strip_mine stripmine", "v = split i0 8"},
    {"parallelize omp", "parallel i0"},
    {"simd", "vectorize i0"},
    {"compute_at", "sink, fuse or enclose"},
    {"cache_read cache_write cache", "pack, stage or privatize"},
    {"unroll_and_jam", "unroll_jam i0 i1"},
    {"fission", "distribute, or cut"},
    {"gpu_blocks gpu_threads", "bind i0 grid, and bind i1 thread"},
    {"flatten", "collapse i0 i1"},
};

absl::StatusOr<const Row*> FindRow(const std::string& name) {
  std::vector<std::string> names;
  for (const Row& row : Rows()) {
    if (row.name == name) return &row;
    names.emplace_back(row.name);
  }
  const size_t bracket = name.find('(');
  if (bracket != std::string::npos) {
    return UserError("`", name, "` is no rewrite; write blanks in the ",
                     "place of brackets: ", name.substr(0, bracket), " i0 ...");
  }
  for (const Synonym& synonym : kSynonyms) {
    for (absl::string_view other : absl::StrSplit(synonym.names, ' ')) {
      if (name != other) continue;
      return UserError("`", name, "` is no rewrite; write ", synonym.line);
    }
  }
  const std::vector<std::string> near = NearNames(name, names);
  return UserError("`", name, "` is no rewrite; ",
                   near.empty() ? "there are " + absl::StrJoin(names, ", ")
                                : "did you mean " + near[0] + "?");
}

absl::StatusOr<LoopKind> BoundKind(const std::string& word) {
  for (LoopKind kind : {LoopKind::kGrid, LoopKind::kThread, LoopKind::kUnroll,
                        LoopKind::kFor}) {
    if (word == WordOf(kind)) return kind;
  }
  return UserError("`", word, "` is nothing to bind a loop to; give grid, ",
                   "thread, unroll or for");
}

absl::StatusOr<NamedLoop> LoopNamed(const LoopNames& names,
                                    const std::string& name) {
  auto named = names.find(name);
  if (named != names.end()) return named->second;
  if (std::optional<IteratorId> iterator = IteratorNamed(name)) {
    return NamedLoop{*iterator};
  }
  return UserError("`", name, "` is no loop: give i0, i1, ... or a name that ",
                   "stands before a `=` above");
}

// `status` with the names of the script for its loops.
absl::Status WithNames(const absl::Status& status, const LoopNames& named) {
  absl::flat_hash_map<std::string, std::string> names;
  for (const auto& [name, loop] : named) {
    if (loop.is_empty) continue;
    std::string& known = names[Name(loop.loop)];
    if (known.empty() || name < known) known = name;
  }
  std::string text;
  absl::string_view rest = status.message();
  while (!rest.empty()) {
    const auto is_of_word = [](char c) {
      return absl::ascii_isalnum(c) || c == '_';
    };
    size_t size = 0;
    while (size < rest.size() && is_of_word(rest[size])) ++size;
    const auto found = names.find(rest.substr(0, size));
    size = std::max<size_t>(size, 1);
    absl::StrAppend(&text, found == names.end()
                               ? rest.substr(0, size)
                               : absl::string_view(found->second));
    rest.remove_prefix(size);
  }
  return absl::Status(status.code(), text);
}

// The arguments of a line. `is_empty` is whether its first loop is.
struct LineArguments {
  Arguments given;
  bool is_empty = false;
};

absl::StatusOr<LineArguments> ArgumentsOf(
    const LoopNames& names, const Row& row,
    const std::vector<std::string>& words) {
  const bool many = absl::EndsWith(row.arguments, "*");
  const bool counts = absl::EndsWith(row.arguments, "~");
  const bool open = many || counts || absl::EndsWith(row.arguments, "?");
  const size_t least = row.arguments.size() - (open ? 1 : 0);
  const size_t most = open ? least + 1 : least;
  if (words.size() < least || (words.size() > most && !many)) {
    return UserError("write ", row.usage);
  }
  LineArguments line;
  Arguments& arguments = line.given;
  for (size_t k = 0; k < words.size(); ++k) {
    const char kind = k < least ? row.arguments[k] : counts ? '#' : 'l';
    if (absl::StrContains("btpz", kind)) {
      arguments.buffer = words[k];
    } else if (kind == 'k') {
      OCANNL_ASSIGN_OR_RETURN(arguments.kind, BoundKind(words[k]));
    } else if (kind == '#') {
      if (!absl::SimpleAtoi(words[k], &arguments.number)) {
        return UserError("`", words[k], "` is no number; write ", row.usage);
      }
    } else {
      OCANNL_ASSIGN_OR_RETURN(const NamedLoop named,
                              LoopNamed(names, words[k]));
      line.is_empty |= arguments.loops.empty() && named.is_empty;
      arguments.loops.push_back(named.loop);
    }
  }
  return line;
}

struct Line {
  int number;
  absl::string_view text;
};

std::vector<Line> LinesOf(absl::string_view script) {
  std::vector<Line> lines;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(script, '\n')) {
    ++number;
    line = line.substr(0, line.find('#'));
    for (absl::string_view part : absl::StrSplit(line, ';')) {
      part = absl::StripAsciiWhitespace(part);
      if (!part.empty()) lines.push_back({number, part});
    }
  }
  return lines;
}

bool IsBinding(absl::string_view line) {
  const std::vector<std::string> words = Words(line);
  return !words.empty() && words[0] == "bind";
}

// Verifies at the end or, if it is `stepwise`, after each line, but after all
// bindings in a row at once.
absl::StatusOr<LoopProgram> RunLines(LoopProgram program,
                                     const std::vector<Line>& lines,
                                     bool stepwise) {
  ScriptRunner runner(std::move(program));
  for (size_t k = 0; k < lines.size(); ++k) {
    const Line& line = lines[k];
    absl::Status status =
        stepwise ? runner.Line(line.text) : runner.LineApart(line.text);
    const bool goes_on = k + 1 < lines.size() && IsBinding(lines[k].text) &&
                         IsBinding(lines[k + 1].text);
    if (status.ok() && stepwise && !goes_on) status = runner.Verify();
    if (status.ok()) continue;
    return UserError("line ", line.number, ", `", line.text,
                     "`: ", status.message());
  }
  runner.Join();
  if (!stepwise) OCANNL_RETURN_IF_ERROR(runner.Verify());
  return runner.program();
}

}  // namespace

ScriptRunner::ScriptRunner(LoopProgram program)
    : program_(std::move(program)), rewriter_(program_) {
  // Goes on behind the scripts before this one.
  program_.next_iterator = NextIterator(program_);
}

absl::Status ScriptRunner::Line(absl::string_view line) {
  return Run(line, /*apart=*/false);
}

absl::Status ScriptRunner::LineApart(absl::string_view line) {
  return Run(line, /*apart=*/true);
}

void ScriptRunner::Join() {
  if (nests_) nests_->Join();
  nests_.reset();
}

absl::Status ScriptRunner::Run(absl::string_view line, bool apart) {
  std::vector<std::string> names;
  const size_t equals = line.find('=');
  if (equals != absl::string_view::npos) {
    names = Words(line.substr(0, equals));
    line.remove_prefix(equals + 1);
  }
  std::vector<std::string> words = Words(line);
  if (words.empty()) return UserError("a rewrite belongs here");
  OCANNL_ASSIGN_OR_RETURN(const Row* row, FindRow(words[0]));
  words.erase(words.begin());
  OCANNL_ASSIGN_OR_RETURN(const auto given, ArgumentsOf(named_, *row, words));
  const auto& [arguments, is_empty] = given;
  if (is_empty) {
    for (const std::string& name : names) {
      named_[name] = {arguments.loops[0], /*is_empty=*/true};
    }
    return absl::OkStatus();
  }
  if (apart && row->changes == Row::Changes::kLoop) {
    if (!nests_) nests_.emplace(program_);
    apart = nests_->Focus(arguments.loops);
  } else {
    apart = false;
  }
  if (!apart) Join();
  absl::Status status = Apply(*row, arguments, names);
  if (apart) nests_->Unfocus();
  return status.ok() ? status : WithNames(status, named_);
}

absl::Status ScriptRunner::Apply(const Row& row, const Arguments& arguments,
                                 const std::vector<std::string>& names) {
  if (names.empty()) return rewriter_.Apply(row, arguments);
  Rewriter::Savepoint before(rewriter_);
  OCANNL_ASSIGN_OR_RETURN(const NewLoops made, rewriter_.Apply(row, arguments));
  const bool may_lack_tail = absl::StrContains(row.usage, "[, tail]");
  if (names.size() > made.size() && !may_lack_tail) {
    before.RollBack();
    return UserError("it makes ", made.size(), " loops to name, not ",
                     names.size());
  }
  for (size_t k = 0; k < names.size(); ++k) {
    // Where all is one group, that is the loop.
    named_[names[k]] = k < made.size()
                           ? NamedLoop{made[k]}
                           : NamedLoop{arguments.loops[0], /*is_empty=*/k > 0};
  }
  return absl::OkStatus();
}

absl::Status ScriptRunner::Verify() {
  absl::Status status = VerifyPromises(program_);
  if (status.ok()) status = gpu::VerifyKernels(program_);
  if (status.ok()) return status;
  return UserError("the result would break a rule of programs: ",
                   WithNames(status, named_).message());
}

absl::StatusOr<LoopProgram> RunScript(LoopProgram program,
                                      absl::string_view script) {
  const std::vector<Line> lines = LinesOf(script);
  // To verify takes as long as the program is, so it is done once.
  absl::StatusOr<LoopProgram> rewritten = RunLines(program, lines, false);
  if (rewritten.ok()) return rewritten;
  // But after each line where one is to blame.
  return RunLines(std::move(program), lines, true);
}

}  // namespace ocannl::rewrite
