// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/rewrite/script.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/loop/words.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/unverified.h"
#include "ocannl/core/schedule/rewrite/verified.h"

namespace ocannl::rewrite {
namespace {

// What a line says, read as its rewrite needs it.
struct Arguments {
  std::vector<IteratorId> loops;
  std::string buffer;
  int64_t size = 0;
  LoopKind kind = LoopKind::kFor;
};

struct Row {
  absl::string_view name;
  absl::string_view usage;
  absl::string_view form;  // as in RewriteForm
  int new_loops;           // how many names it may be given, at most
  Rewritten (*apply)(LoopProgram, const Arguments&);
};

constexpr absl::string_view kSplitReduce = "split_reduce";
constexpr absl::string_view kBind = "bind";
constexpr int kAnyNumber = 1 << 20;

constexpr Row kRows[] = {
    {"split", "inner[, tail] = split LOOP SIZE", "l#", 2,
     [](LoopProgram p, const Arguments& a) {
       return unverified::Split(std::move(p), a.loops[0], a.size);
     }},
    {"reorder", "reorder LOOP LOOP ...", "il*", 0,
     [](LoopProgram p, const Arguments& a) {
       return unverified::Reorder(std::move(p), a.loops);
     }},
    {"vectorize", "vectorize LOOP", "l", 0,
     [](LoopProgram p, const Arguments& a) {
       return unverified::Vectorize(std::move(p), a.loops[0]);
     }},
    {"unroll_jam", "group[, tail] = unroll_jam LOOP FACTOR", "l#", 2,
     [](LoopProgram p, const Arguments& a) {
       return unverified::UnrollJam(std::move(p), a.loops[0], a.size);
     }},
    {"privatize", "privatize BUFFER LOOP [LAST_LOOP]", "bl?", 0,
     [](LoopProgram p, const Arguments& a) {
       return unverified::Privatize(std::move(p), a.buffer, a.loops[0],
                                    a.loops.back());
     }},
    {"pack", "pack BUFFER LOOP", "bl", 0,
     [](LoopProgram p, const Arguments& a) {
       return unverified::Pack(std::move(p), a.buffer, a.loops[0]);
     }},
    {"parallel", "parallel LOOP", "l", 0,
     [](LoopProgram p, const Arguments& a) {
       return unverified::Parallel(std::move(p), a.loops[0]);
     }},
    {"fuse", "fuse LOOP LOOP", "ln", 0,
     [](LoopProgram p, const Arguments& a) {
       return unverified::Fuse(std::move(p), a.loops[0], a.loops[1]);
     }},
    {"cut", "rest = cut LOOP AT", "l#", 1,
     [](LoopProgram p, const Arguments& a) {
       return unverified::Cut(std::move(p), a.loops[0], a.size);
     }},
    {"distribute", "second, third, ... = distribute LOOP", "l", kAnyNumber,
     [](LoopProgram p, const Arguments& a) {
       return unverified::Distribute(std::move(p), a.loops[0]);
     }},
    {"collapse", "collapse OUTER INNER", "li", 0,
     [](LoopProgram p, const Arguments& a) {
       return unverified::Collapse(std::move(p), a.loops[0], a.loops[1]);
     }},
    {"zero_loops", "outer, inner, ... = zero_loops BUFFER", "b", kAnyNumber,
     [](LoopProgram p, const Arguments& a) {
       return unverified::ZeroLoops(std::move(p), a.buffer);
     }},
    {kBind, "bind LOOP grid|thread|unroll|for", "lk", 0,
     [](LoopProgram p, const Arguments& a) {
       return unverified::Bind(std::move(p), a.loops[0], a.kind);
     }},
    {"stage", "stage BUFFER LOOP", "bg", 0,
     [](LoopProgram p, const Arguments& a) {
       return unverified::Stage(std::move(p), a.buffer, a.loops[0]);
     }},
    {"demote", "demote", "", 0,
     [](LoopProgram p, const Arguments&) {
       return unverified::Demote(std::move(p));
     }},
    {"contract_array", "contract_array BUFFER LOOP", "tl", 0,
     [](LoopProgram p, const Arguments& a) {
       return unverified::ContractArray(std::move(p), a.buffer, a.loops[0]);
     }},
    {"cross_thread", "cross_thread LOOP", "l", 0,
     [](LoopProgram p, const Arguments& a) {
       return unverified::CrossThread(std::move(p), a.loops[0]);
     }},
    {kSplitReduce, "split_reduce LOOP", "l", 0,
     [](LoopProgram p, const Arguments& a) {
       return unverified::SplitReduce(std::move(p), a.loops[0]);
     }},
};

std::vector<std::string> Words(absl::string_view text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \t,"), absl::SkipEmpty());
}

absl::StatusOr<const Row*> FindRow(const std::string& name) {
  std::vector<std::string> names;
  for (const Row& row : kRows) {
    if (row.name == name) return &row;
    names.emplace_back(row.name);
  }
  const std::vector<std::string> near = NearNames(name, names);
  return IllegalError("`", name, "` is no rewrite; ",
                      near.empty() ? "there are " + absl::StrJoin(names, ", ")
                                   : "did you mean " + near[0] + "?");
}

absl::StatusOr<LoopKind> BoundKind(const std::string& word) {
  for (LoopKind kind : {LoopKind::kGrid, LoopKind::kThread, LoopKind::kUnroll,
                        LoopKind::kFor}) {
    if (word == WordOf(kind)) return kind;
  }
  return IllegalError("`", word, "` is nothing to bind a loop to; give grid, ",
                      "thread, unroll or for");
}

using LoopNames = absl::flat_hash_map<std::string, IteratorId>;

absl::StatusOr<IteratorId> LoopNamed(const LoopNames& names,
                                     const std::string& name) {
  auto named = names.find(name);
  if (named != names.end()) return named->second;
  if (std::optional<IteratorId> iterator = IteratorNamed(name))
    return *iterator;
  return IllegalError("`", name,
                      "` is no loop: give i0, i1, ... or a name that ",
                      "stands before a `=` above");
}

absl::StatusOr<Arguments> ArgumentsOf(const LoopNames& names, const Row& row,
                                      const std::vector<std::string>& words) {
  const bool many = absl::EndsWith(row.form, "*");
  const bool open = many || absl::EndsWith(row.form, "?");
  const size_t least = row.form.size() - (open ? 1 : 0);
  const size_t most = open ? least + 1 : least;
  if (words.size() < least || (words.size() > most && !many)) {
    return IllegalError("write ", row.usage);
  }
  Arguments arguments;
  for (size_t k = 0; k < words.size(); ++k) {
    const char kind = k < least ? row.form[k] : 'l';
    if (kind == 'b' || kind == 't') {
      arguments.buffer = words[k];
    } else if (kind == 'k') {
      OCANNL_ASSIGN_OR_RETURN(arguments.kind, BoundKind(words[k]));
    } else if (kind == '#') {
      if (!absl::SimpleAtoi(words[k], &arguments.size)) {
        return IllegalError("`", words[k], "` is no number; write ", row.usage);
      }
    } else {
      OCANNL_ASSIGN_OR_RETURN(const IteratorId loop,
                              LoopNamed(names, words[k]));
      arguments.loops.push_back(loop);
    }
  }
  return arguments;
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
  return !words.empty() && words[0] == kBind;
}

// With `verifies`, each line by itself, but all bindings in a row at once.
Rewritten RunLines(LoopProgram program, const std::vector<Line>& lines,
                   bool verifies) {
  ScriptRunner runner(std::move(program));
  for (size_t k = 0; k < lines.size(); ++k) {
    const Line& line = lines[k];
    absl::Status status = runner.Line(line.text);
    const bool goes_on = k + 1 < lines.size() && IsBinding(lines[k].text) &&
                         IsBinding(lines[k + 1].text);
    if (status.ok() && verifies && !goes_on) status = runner.Verify();
    if (status.ok()) continue;
    return IllegalError("line ", line.number, ", `", line.text,
                        "`: ", status.message());
  }
  return runner.program();
}

}  // namespace

absl::Status ScriptRunner::Line(absl::string_view line) {
  const absl::string_view all = line;
  std::vector<std::string> names;
  const size_t equals = line.find('=');
  if (equals != absl::string_view::npos) {
    names = Words(line.substr(0, equals));
    line.remove_prefix(equals + 1);
  }
  std::vector<std::string> words = Words(line);
  if (words.empty()) return IllegalError("a rewrite belongs here");
  OCANNL_ASSIGN_OR_RETURN(const Row* row, FindRow(words[0]));
  words.erase(words.begin());
  OCANNL_ASSIGN_OR_RETURN(const Arguments arguments,
                          ArgumentsOf(named_, *row, words));
  // Takes as long as the program is.
  IteratorId new_loop =
      row->new_loops == 0 ? IteratorId() : NextIterator(program_);
  OCANNL_ASSIGN_OR_RETURN(LoopProgram rewritten,
                          row->apply(std::move(program_), arguments));
  const int32_t made =
      row->new_loops == 0 ? 0 : NextIterator(rewritten).index - new_loop.index;
  if (static_cast<int>(names.size()) > std::min(row->new_loops, made)) {
    return IllegalError("it makes ", std::min(row->new_loops, made),
                        " loops to name, not ", names.size());
  }
  program_ = std::move(rewritten);
  for (const std::string& name : names) named_[name] = new_loop++;
  absl::StrAppend(&script_, all, "\n");
  return absl::OkStatus();
}

absl::Status ScriptRunner::Verify() {
  OCANNL_ASSIGN_OR_RETURN(program_, Verified(std::move(program_)));
  return absl::OkStatus();
}

std::vector<RewriteForm> RewriteForms() {
  std::vector<RewriteForm> forms;
  for (const Row& row : kRows) {
    forms.push_back({.name = row.name,
                     .arguments = row.form,
                     .keeps_bits = row.name != kSplitReduce});
  }
  return forms;
}

absl::StatusOr<LoopProgram> RunScript(LoopProgram program,
                                      absl::string_view script) {
  const std::vector<Line> lines = LinesOf(script);
  // To verify takes as long as the program is, so it is done once.
  Rewritten rewritten = Verified(RunLines(program, lines, false));
  if (rewritten.ok()) return rewritten;
  // But after each line where one is to blame.
  return RunLines(std::move(program), lines, true);
}

}  // namespace ocannl::rewrite
