// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/rewrite/script.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/core/base/status_macros.h"
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
  size_t loops_given = 0;

  // Gives a parameter of the rewrite what is of its type: one loop after the
  // other, the last one again where the line has too few, and a span gets
  // those that are left.
  void Give(IteratorId& loop) {
    loop = loops[std::min(loops_given++, loops.size() - 1)];
  }
  void Give(absl::Span<const IteratorId>& rest) {
    rest = absl::MakeSpan(loops).subspan(std::min(loops_given, loops.size()));
  }
  void Give(absl::string_view& name) { name = buffer; }
  void Give(int64_t& number) { number = size; }
  void Give(LoopKind& to) { to = kind; }
  void Give(Legality& legality) { legality = Legality::kProve; }
};

// Calls it with what each of its parameters is given, in order.
template <typename... T>
absl::Status Call(absl::Status (*rewrite)(LoopProgram&, T...),
                  LoopProgram& program, Arguments& arguments) {
  std::tuple<T...> given;
  auto call = [&](T&... parameters) {
    (arguments.Give(parameters), ...);
    return rewrite(program, parameters...);
  };
  return std::apply(call, given);
}

// A row of rewrites.def, which says what its columns are.
struct Row {
  enum class Changes : uint8_t { kLoop, kNest, kRounding, kProgram };

  absl::string_view name;
  absl::string_view arguments;
  absl::string_view usage;
  int new_loops;
  Changes changes;
  absl::Status (*apply)(LoopProgram&, Arguments&);
};

constexpr int kAnyNumber = 1 << 20;

constexpr Row kRows[] = {
#define REWRITE(function, parameters, name, arguments, usage, new_loops, \
                changes)                                                 \
  {name,                                                                 \
   arguments,                                                            \
   usage,                                                                \
   new_loops,                                                            \
   Row::Changes::changes,                                                \
   [](LoopProgram& p, Arguments& a) { return Call(function, p, a); }},
#include "ocannl/core/schedule/rewrite/rewrites.def"
#undef REWRITE
};

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
  for (const Row& row : kRows) {
    if (row.name == name) return &row;
    names.emplace_back(row.name);
  }
  const size_t bracket = name.find('(');
  if (bracket != std::string::npos) {
    return IllegalError("`", name, "` is no rewrite; write blanks in the ",
                        "place of brackets: ", name.substr(0, bracket),
                        " i0 ...");
  }
  for (const Synonym& synonym : kSynonyms) {
    for (absl::string_view other : absl::StrSplit(synonym.names, ' ')) {
      if (name != other) continue;
      return IllegalError("`", name, "` is no rewrite; write ", synonym.line);
    }
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
  const bool many = absl::EndsWith(row.arguments, "*");
  const bool open = many || absl::EndsWith(row.arguments, "?");
  const size_t least = row.arguments.size() - (open ? 1 : 0);
  const size_t most = open ? least + 1 : least;
  if (words.size() < least || (words.size() > most && !many)) {
    return IllegalError("write ", row.usage);
  }
  Arguments arguments;
  for (size_t k = 0; k < words.size(); ++k) {
    const char kind = k < least ? row.arguments[k] : 'l';
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
    return IllegalError("line ", line.number, ", `", line.text,
                        "`: ", status.message());
  }
  runner.Join();
  if (!stepwise) OCANNL_RETURN_IF_ERROR(runner.Verify());
  return runner.program();
}

}  // namespace

ScriptRunner::Savepoint::Savepoint(ScriptRunner& runner)
    : runner_(runner),
      program_(runner.program_),
      script_size_(runner.script_.size()),
      named_(runner.named_) {
  runner_.savepoints_.push_back(this);
}

ScriptRunner::Savepoint::~Savepoint() { std::erase(runner_.savepoints_, this); }

void ScriptRunner::Savepoint::RollBack() {
  program_.RollBack();
  runner_.script_.resize(script_size_);
  runner_.named_ = named_;
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
  OCANNL_ASSIGN_OR_RETURN(Arguments arguments,
                          ArgumentsOf(named_, *row, words));
  if (apart && row->changes == Row::Changes::kLoop) {
    if (!nests_) nests_.emplace(program_);
    apart = nests_->Focus(arguments.loops);
  } else {
    apart = false;
  }
  if (!apart) Join();
  std::vector<rewrite::Savepoint*> savepoints;
  for (Savepoint* savepoint : savepoints_) {
    savepoints.push_back(&savepoint->program_);
  }
  std::optional<rewrite::Savepoint> before;  // else only the rewrite may fail
  if (!names.empty()) savepoints.push_back(&before.emplace(program_));
  // Takes as long as the body is.
  IteratorId new_loop = names.empty() ? IteratorId() : NextIterator(program_);
  if (!savepoints.empty()) {
    const bool is_of_nest = row->changes != Row::Changes::kProgram;
    SaveNestsOf(is_of_nest ? arguments.loops : std::vector<IteratorId>(),
                savepoints);
  }
  absl::Status status = row->apply(program_, arguments);
  if (status.ok()) {
    const int32_t made =
        names.empty() ? 0 : NextIterator(program_).index - new_loop.index;
    if (static_cast<int>(names.size()) > std::min(row->new_loops, made)) {
      before->RollBack();
      status = IllegalError(
          "it makes ", std::min(row->new_loops, made), " loops to name, not ",
          names.size(),
          row->name == "split"
              ? "; name the inner one, and the tail if there is one"
              : "");
    }
  }
  if (apart) nests_->Unfocus();
  OCANNL_RETURN_IF_ERROR(status);
  for (const std::string& name : names) named_[name] = new_loop++;
  absl::StrAppend(&script_, all, "\n");
  return absl::OkStatus();
}

absl::Status ScriptRunner::Verify() {
  absl::Status status = VerifyPromises(program_);
  if (status.ok()) status = gpu::VerifyKernels(program_);
  if (status.ok()) return status;
  return IllegalError("the result would break a rule of programs: ",
                      status.message());
}

std::vector<Stmt> ScriptRunner::Take(size_t count) {
  CHECK(savepoints_.empty());
  std::vector<Stmt>& stmts = program_.body.stmts;
  const auto end = stmts.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Stmt> taken(std::make_move_iterator(stmts.begin()),
                          std::make_move_iterator(end));
  stmts.erase(stmts.begin(), end);
  return taken;
}

void ScriptRunner::Append(std::vector<Stmt> stmts) {
  for (Savepoint* savepoint : savepoints_) {
    savepoint->program_.Appended(stmts.size());
  }
  absl::c_move(stmts, std::back_inserter(program_.body.stmts));
}

void ScriptRunner::SaveNestsOf(
    absl::Span<const IteratorId> loops,
    absl::Span<rewrite::Savepoint* const> savepoints) {
  const std::vector<Stmt>& stmts = program_.body.stmts;
  if (stmts.empty()) return;
  std::vector<size_t> nests;
  for (IteratorId loop : loops) {
    const absl::StatusOr<LoopSite> site = FindLoop(program_, loop);
    if (!site.ok()) return;  // so the line will say
    nests.push_back(site->nest);
  }
  if (loops.empty()) nests = {0, stmts.size() - 1};
  for (rewrite::Savepoint* savepoint : savepoints) {
    for (size_t at : nests) savepoint->Save(at);
  }
}

std::vector<RewriteForm> RewriteForms() {
  std::vector<RewriteForm> forms;
  for (const Row& row : kRows) {
    forms.push_back({.name = row.name,
                     .arguments = row.arguments,
                     .keeps_bits = row.changes != Row::Changes::kRounding});
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
