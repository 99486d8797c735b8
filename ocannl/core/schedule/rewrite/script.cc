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
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/loop/words.h"
#include "ocannl/core/schedule/gpu/verify_kernels.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"

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
  bool is_of_nest;         // changes only what its loops are in
  absl::Status (*apply)(LoopProgram&, const Arguments&);
};

constexpr absl::string_view kSplitReduce = "split_reduce";
constexpr absl::string_view kBind = "bind";
constexpr int kAnyNumber = 1 << 20;

constexpr Row kRows[] = {
    {"split", "inner[, tail] = split LOOP SIZE", "l#", 2, true,
     [](LoopProgram& p, const Arguments& a) {
       return Split(p, a.loops[0], a.size);
     }},
    {"reorder", "reorder LOOP LOOP ...", "il*", 0, true,
     [](LoopProgram& p, const Arguments& a) { return Reorder(p, a.loops); }},
    {"vectorize", "vectorize LOOP", "l", 0, true,
     [](LoopProgram& p, const Arguments& a) {
       return Vectorize(p, a.loops[0]);
     }},
    {"unroll_jam", "group[, tail] = unroll_jam LOOP FACTOR", "l#", 2, true,
     [](LoopProgram& p, const Arguments& a) {
       return UnrollJam(p, a.loops[0], a.size);
     }},
    {"privatize", "privatize BUFFER LOOP [LAST_LOOP]", "bl?", 0, true,
     [](LoopProgram& p, const Arguments& a) {
       return Privatize(p, a.buffer, a.loops[0], a.loops.back());
     }},
    {"pack", "pack BUFFER LOOP [LAST_LOOP [ALONG_LOOP ...]]", "bl*", 0, true,
     [](LoopProgram& p, const Arguments& a) {
       const IteratorId last = a.loops[a.loops.size() > 1 ? 1 : 0];
       auto along = absl::MakeConstSpan(a.loops);
       along.remove_prefix(std::min<size_t>(along.size(), 2));
       return Pack(p, a.buffer, a.loops[0], last, along);
     }},
    {"parallel", "parallel LOOP", "l", 0, true,
     [](LoopProgram& p, const Arguments& a) {
       return Parallel(p, a.loops[0]);
     }},
    {"fuse", "fuse LOOP LOOP", "ln", 0, true,
     [](LoopProgram& p, const Arguments& a) {
       return Fuse(p, a.loops[0], a.loops[1]);
     }},
    {"cut", "rest = cut LOOP AT", "l#", 1, true,
     [](LoopProgram& p, const Arguments& a) {
       return Cut(p, a.loops[0], a.size);
     }},
    {"unroll", "unroll LOOP", "l", 0, true,
     [](LoopProgram& p, const Arguments& a) { return Unroll(p, a.loops[0]); }},
    {"enclose", "loop = enclose LOOP LAST_LOOP", "ln", 1, true,
     [](LoopProgram& p, const Arguments& a) {
       return Enclose(p, a.loops[0], a.loops[1]);
     }},
    {"distribute", "second, third, ... = distribute LOOP", "l", kAnyNumber,
     true,
     [](LoopProgram& p, const Arguments& a) {
       return Distribute(p, a.loops[0]);
     }},
    {"collapse", "collapse OUTER INNER", "li", 0, false,
     [](LoopProgram& p, const Arguments& a) {
       return Collapse(p, a.loops[0], a.loops[1]);
     }},
    {"zero_loops", "outer, inner, ... = zero_loops BUFFER", "b", kAnyNumber,
     false,
     [](LoopProgram& p, const Arguments& a) { return ZeroLoops(p, a.buffer); }},
    {"absorb_zero_out", "absorb_zero_out BUFFER LOOP", "zl", 0, false,
     [](LoopProgram& p, const Arguments& a) {
       return AbsorbZeroOut(p, a.buffer, a.loops[0]);
     }},
    {kBind, "bind LOOP grid|thread|unroll|for", "lk", 0, true,
     [](LoopProgram& p, const Arguments& a) {
       return Bind(p, a.loops[0], a.kind);
     }},
    {"stage", "stage BUFFER LOOP", "bg", 0, true,
     [](LoopProgram& p, const Arguments& a) {
       return Stage(p, a.buffer, a.loops[0]);
     }},
    {"prefetch", "prefetch LOOP", "g", 0, true,
     [](LoopProgram& p, const Arguments& a) {
       return Prefetch(p, a.loops[0]);
     }},
    {"demote", "demote", "", 0, false,
     [](LoopProgram& p, const Arguments&) { return Demote(p); }},
    {"contract_array", "contract_array BUFFER LOOP", "tl", 0, true,
     [](LoopProgram& p, const Arguments& a) {
       return ContractArray(p, a.buffer, a.loops[0]);
     }},
    {"expand_array", "expand_array BUFFER LOOP", "pl", 0, true,
     [](LoopProgram& p, const Arguments& a) {
       return ExpandArray(p, a.buffer, a.loops[0]);
     }},
    {"transpose_rows", "transpose_rows LOOP LANES", "r#", 0, true,
     [](LoopProgram& p, const Arguments& a) {
       return TransposeRows(p, a.loops[0], a.size);
     }},
    {"cross_thread", "cross_thread LOOP", "l", 0, true,
     [](LoopProgram& p, const Arguments& a) {
       return CrossThread(p, a.loops[0]);
     }},
    {"sink", "sink LOOP", "s", 0, false,
     [](LoopProgram& p, const Arguments& a) { return Sink(p, a.loops[0]); }},
    {kSplitReduce, "split_reduce LOOP", "l", 0, true,
     [](LoopProgram& p, const Arguments& a) {
       return SplitReduce(p, a.loops[0]);
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
    if (absl::StrContains("btpz", kind)) {
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

// Verifies at the end or, if it is `stepwise`, after each line, but after all
// bindings in a row at once.
absl::StatusOr<LoopProgram> RunLines(LoopProgram program,
                                     const std::vector<Line>& lines,
                                     bool stepwise) {
  ScriptRunner runner(std::move(program));
  for (size_t k = 0; k < lines.size(); ++k) {
    const Line& line = lines[k];
    absl::Status status = runner.Line(line.text);
    const bool goes_on = k + 1 < lines.size() && IsBinding(lines[k].text) &&
                         IsBinding(lines[k + 1].text);
    if (status.ok() && stepwise && !goes_on) status = runner.Verify();
    if (status.ok()) continue;
    return IllegalError("line ", line.number, ", `", line.text,
                        "`: ", status.message());
  }
  if (!stepwise) OCANNL_RETURN_IF_ERROR(runner.Verify());
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
  if (!savepoints_.empty()) {
    row->is_of_nest ? SaveNestsOf(arguments.loops) : SaveNestsOf({});
  }
  OCANNL_RETURN_IF_ERROR(row->apply(program_, arguments));
  const int32_t made =
      row->new_loops == 0 ? 0 : NextIterator(program_).index - new_loop.index;
  if (static_cast<int>(names.size()) > std::min(row->new_loops, made)) {
    return IllegalError("it makes ", std::min(row->new_loops, made),
                        " loops to name, not ", names.size());
  }
  for (const std::string& name : names) named_[name] = new_loop++;
  absl::StrAppend(&script_, all, "\n");
  return absl::OkStatus();
}

absl::Status ScriptRunner::Verify() {
  absl::Status status = ocannl::Verify(program_);
  if (status.ok()) status = gpu::VerifyKernels(program_);
  if (status.ok()) return status;
  return IllegalError("the result would break a rule of programs: ",
                      status.message());
}

bool ScriptRunner::Try(absl::string_view line) {
  Savepoint before(*this);
  const bool done = Line(line).ok();
  if (!done) before.RollBack();
  return done;
}

void ScriptRunner::SaveNestsOf(absl::Span<const IteratorId> loops) {
  const std::vector<Stmt>& stmts = program_.body.stmts;
  if (stmts.empty()) return;
  std::vector<size_t> nests;
  for (IteratorId loop : loops) {
    const absl::StatusOr<LoopSite> site = FindLoop(program_, loop);
    if (!site.ok()) return;  // so the line will say
    nests.push_back(site->nest);
  }
  if (loops.empty()) nests = {0, stmts.size() - 1};
  for (Savepoint* savepoint : savepoints_) {
    for (size_t at : nests) savepoint->Save(at);
  }
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
  absl::StatusOr<LoopProgram> rewritten = RunLines(program, lines, false);
  if (rewritten.ok()) return rewritten;
  // But after each line where one is to blame.
  return RunLines(std::move(program), lines, true);
}

}  // namespace ocannl::rewrite
