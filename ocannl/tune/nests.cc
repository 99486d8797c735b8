// SPDX-License-Identifier: Apache-2.0
#include "ocannl/tune/nests.h"

#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/outline.h"
#include "ocannl/core/loop/renumber.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/loop/words.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/core/schedule/nests/canonicalize.h"
#include "ocannl/core/schedule/rewrite/print_script.h"
#include "ocannl/core/schedule/rewrite/script.h"

namespace ocannl::tune {
namespace {

// Disjoint sets of statements, by their place in the body (Tarjan 1975).
class Groups {
 public:
  explicit Groups(size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }
  size_t Find(size_t stmt) {
    while (parent_[stmt] != stmt) stmt = parent_[stmt] = parent_[parent_[stmt]];
    return stmt;
  }
  void Join(size_t a, size_t b) { parent_[Find(a)] = Find(b); }

 private:
  std::vector<size_t> parent_;
};

// Reads the planner's script of a whole program.
class ScriptReader {
 public:
  explicit ScriptReader(const LoopProgram& program)
      : program_(program), groups_(program.body.stmts.size()) {
    const std::vector<Stmt>& stmts = program.body.stmts;
    for (size_t k = 0; k < stmts.size(); ++k) {
      WalkLoops({{stmts[k]}},
                [&](const For& loop) { stmt_of_[Name(loop.iterator)] = k; });
    }
  }

  void Read(absl::string_view script) {
    std::vector<std::string> heads;
    for (absl::string_view text :
         absl::StrSplit(script, '\n', absl::SkipEmpty())) {
      if (absl::ConsumePrefix(&text, "# nest-")) {
        heads = absl::StrSplit(absl::StrCat("nest-", text), ", ");
        continue;
      }
      const std::optional<ParsedLine> line = ParseLine(text);
      if (!line || text[0] == '#') continue;
      const std::optional<size_t> stmt = StmtOf(*line);
      if (!stmt) continue;
      for (const std::string& name : line->names) stmt_of_[name] = *stmt;
      lines_.push_back({*stmt, std::string(text)});
      for (std::string& head : heads) names_[std::move(head)] = *stmt;
      heads.clear();
    }
  }

  Groups& groups() { return groups_; }
  // With the statement that each belongs to.
  const std::vector<std::pair<size_t, std::string>>& lines() const {
    return lines_;
  }
  // The names of what became of the group's statements.
  std::string NameOf(size_t group) {
    std::vector<std::string> names;
    for (const auto& [name, stmt] : names_) {
      if (groups_.Find(stmt) == group) names.push_back(name);
    }
    return absl::StrJoin(names, ", ");
  }

 private:
  // A statement of the line's, with which it joins all others.
  std::optional<size_t> StmtOf(const ParsedLine& line) {
    std::optional<size_t> stmt;
    for (const std::string& loop : line.Loops()) {
      const auto found = stmt_of_.find(loop);
      if (found == stmt_of_.end()) continue;
      if (stmt) groups_.Join(*stmt, found->second);
      stmt = found->second;
    }
    if (line.row->name != "zero_loops" && line.row->name != "absorb_zero_out") {
      return stmt;
    }
    const std::optional<size_t> zero = NextZeroOut(line.Buffer());
    if (zero && stmt) groups_.Join(*zero, *stmt);
    return zero ? zero : stmt;
  }

  // The first one of that buffer that no line above has used.
  std::optional<size_t> NextZeroOut(absl::string_view buffer) {
    const std::vector<Stmt>& stmts = program_.body.stmts;
    for (size_t k = 0; k < stmts.size(); ++k) {
      const auto* zero = std::get_if<ZeroOut>(&stmts[k]);
      if (zero == nullptr || program_.buffers[zero->buffer].name != buffer) {
        continue;
      }
      if (used_.insert(k).second) return k;
    }
    return std::nullopt;
  }

  const LoopProgram& program_;
  Groups groups_;
  absl::flat_hash_map<std::string, size_t> stmt_of_;
  std::map<std::string, size_t> names_;  // a statement of that nest
  absl::flat_hash_set<size_t> used_;
  std::vector<std::pair<size_t, std::string>> lines_;
};

// What the statements write before they read it needs no values: `out`.
void DropInputs(LoopProgram& part) {
  for (Buffer& buffer : part.buffers) {
    if (buffer.role != Role::kInOut) continue;
    buffer.role = Role::kOut;
    if (!Verify(part).ok()) buffer.role = Role::kInOut;
  }
}

// The statements as a program with the whole one's loops and names.
LoopProgram PartOf(const LoopProgram& program, const Block& block,
                   const absl::flat_hash_set<BufferId>& shared) {
  LoopProgram part;
  part.name = program.name;
  part.statics = program.statics;
  absl::flat_hash_map<BufferId, BufferId> buffers;
  auto buffer = [&](BufferId old) {
    auto [found, is_new] = buffers.try_emplace(old, part.buffers.next_id());
    if (is_new) {
      Buffer own = program.buffers[old];
      const bool is_result = IsResult(own.role) || shared.contains(old);
      if (is_result && !IsInput(own.role)) own.role = Role::kInOut;
      part.buffers.push_back(std::move(own));
    }
    return found->second;
  };
  auto local = [](LocalId old) { return old; };
  auto iterator = [](IteratorId old) { return old; };
  part.body =
      Renumber(program, block,
               {.buffer = buffer, .local = local, .iterator = iterator}, part);
  DropInputs(part);
  CountIterators(part);
  return part;
}

// What CanonicalizeNests does to the loops of a statement, as lines.
Lines CanonicalLines(const Stmt& before, const Stmt& after) {
  const For* loop = std::get_if<For>(&before);
  if (loop == nullptr || before == after) return {};
  const For* canonical = std::get_if<For>(&after);
  std::vector<std::string> kept;
  if (canonical != nullptr) {
    for (IteratorId id : IteratorsOf(LoopChain(*canonical))) {
      kept.push_back(Name(id));
    }
  }
  Lines lines;
  std::vector<std::string> order;
  for (IteratorId id : IteratorsOf(LoopChain(*loop))) {
    if (absl::c_linear_search(kept, Name(id))) {
      order.push_back(Name(id));
    } else {
      lines.push_back(absl::StrCat("unroll ", Name(id)));
    }
  }
  if (order != kept) {
    lines.push_back(absl::StrCat("reorder ", absl::StrJoin(kept, " ")));
  }
  return lines;
}

bool UsesLocalsOf(const LoopProgram& program, const Stmt& stmt) {
  const Effects effects = EffectsOf(program, stmt);
  bool declares = false;
  WalkStmts({{stmt}}, [&](const Stmt& inner) {
    declares |= std::holds_alternative<DeclareLocal>(inner);
  });
  return declares || !effects.local_reads.empty() ||
         !effects.local_writes.empty();
}

// The buffers that statements of several groups use.
absl::flat_hash_set<BufferId> SharedBuffers(const LoopProgram& program,
                                            Groups& groups) {
  absl::flat_hash_map<BufferId, size_t> first;
  absl::flat_hash_set<BufferId> shared;
  for (size_t k = 0; k < program.body.stmts.size(); ++k) {
    for (BufferId id : EffectsOf(program, program.body.stmts[k]).buffers()) {
      const auto [user, is_new] = first.try_emplace(id, groups.Find(k));
      if (user->second != groups.Find(k)) shared.insert(id);
    }
  }
  return shared;
}

}  // namespace

std::vector<Nest> NestsOf(const LoopProgram& program, const Target& target) {
  rewrite::Script script;
  std::vector<Refusal> refused;
  const LoopProgram scheduled =
      Schedule(program, target, {.script = &script, .refused = &refused});
  ScriptReader reader(program);
  reader.Read(rewrite::Print(script, program, SplitNests(scheduled.body)));
  LoopProgram canonical = program;
  CanonicalizeNests(canonical);
  Groups& groups = reader.groups();
  std::map<size_t, Lines> planned;  // by the group
  for (const auto& [stmt, line] : reader.lines()) {
    planned[groups.Find(stmt)].push_back(line);
  }
  const absl::flat_hash_set<BufferId> shared = SharedBuffers(program, groups);
  std::vector<Nest> nests;
  for (auto& [group, lines] : planned) {
    Nest nest;
    Block block;
    bool has_locals = false;
    for (size_t k = 0; k < program.body.stmts.size(); ++k) {
      if (groups.Find(k) != group) continue;
      const Stmt& stmt = program.body.stmts[k];
      has_locals |= UsesLocalsOf(program, stmt);
      block.stmts.push_back(stmt);
      absl::c_move(CanonicalLines(stmt, canonical.body.stmts[k]),
                   std::back_inserter(nest.canonical));
    }
    if (has_locals) continue;
    nest.name = reader.NameOf(group);
    nest.program = PartOf(program, block, shared);
    nest.planned = std::move(lines);
    nests.push_back(std::move(nest));
  }
  return nests;
}

absl::StatusOr<Lines> LinesForWhole(const LoopProgram& program,
                                    const Lines& lines) {
  rewrite::ScriptRunner runner(program);
  Lines kept;
  for (const std::string& line : lines) {
    const absl::Status status = runner.Line(line);
    if (status.ok()) {
      kept.push_back(line);
    } else if (!absl::StartsWith(line, "sink ")) {
      return UserError("`", line, "`: ", status.message());
    }
  }
  OCANNL_RETURN_IF_ERROR(runner.Verify());
  return kept;
}

}  // namespace ocannl::tune
