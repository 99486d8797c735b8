// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/random_rewrites.h"

#include <xxhash.h>

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"
#include "ocannl/core/schedule/rewrite/script.h"
#include "ocannl/fuzz/programs/random.h"

namespace ocannl::fuzz {
namespace {

constexpr int kTries = 40;
constexpr int kMaxRewrites = 12;

class Line {
 public:
  Line(const LoopProgram& program, Random& random)
      : program_(program), random_(random) {
    WalkLoops(program.body, [&](const For& loop) {
      loops_.push_back(&loop);
      if (loop.kind == LoopKind::kGrid) grids_.push_back(&loop);
    });
    const std::vector<Stmt>& stmts = program.body.stmts;
    for (size_t k = 0; k + 1 < stmts.size(); ++k) {
      const For* nest = std::get_if<For>(&stmts[k]);
      const ZeroOut* zero = std::get_if<ZeroOut>(&stmts[k]);
      if (zero != nullptr) zeroed_.push_back(zero->buffer);
      if (nest != nullptr && !Conflict(EffectsOf(program, stmts[k]),
                                       EffectsOf(program, stmts[k + 1]))) {
        movable_.push_back(nest);
      }
    }
    for (BufferId id : program.buffers.ids()) {
      const Role role = program.buffers[id].role;
      if (IsScratch(role) && !IsOfNest(role)) temps_.push_back(id);
      if (role == Role::kPrivate) privates_.push_back(id);
    }
  }

  bool HasLoops() const { return !loops_.empty(); }

  // A rewrite that may or may not be legal.
  std::string Text() {
    const rewrite::Row row = random_.Pick(ExactRows());
    if (row.arguments == "r#") return OfRows(row.name);
    const For* loop = loops_[Below(loops_.size())];
    std::string text(row.name);
    for (char kind : row.arguments) {
      if (absl::StrContains("tpz", kind)) {
        const std::vector<BufferId>& some = kind == 't'   ? temps_
                                            : kind == 'p' ? privates_
                                                          : zeroed_;
        const BufferId id = some.empty() ? BufferId{0} : random_.Pick(some);
        absl::StrAppend(&text, " ", program_.buffers[id].name);
        const std::vector<const For*> around = LoopsAround(id);
        if (!around.empty()) loop = random_.Pick(around);
        continue;
      }
      absl::StrAppend(&text, " ", Argument(kind, *loop));
    }
    // Blocks need threads.
    if (absl::EndsWith(text, "grid")) {
      absl::StrAppend(&text, "; bind ", Inner(*loop), " thread");
    }
    return text;
  }

 private:
  // Those that keep the bits.
  static const std::vector<rewrite::Row>& ExactRows() {
    static const auto* rows = [] {
      auto* exact = new std::vector<rewrite::Row>(rewrite::Rows().begin(),
                                                  rewrite::Rows().end());
      std::erase_if(*exact, [](const rewrite::Row& row) {
        return row.changes == rewrite::Row::Changes::kRounding;
      });
      return exact;
    }();
    return *rows;
  }

  // Of a block of rows that are reduced, each in a private buffer.
  std::string OfRows(absl::string_view rewrite) {
    std::vector<const For*> around;
    if (!privates_.empty()) around = LoopsAround(random_.Pick(privates_));
    const For* rows = (around.empty() ? loops_ : around)[0];
    const int lanes = 2 << Below(5);
    const int64_t size = 1 + Below(rows->extent);
    return absl::StrCat("row = split ", Name(rows->iterator), " ", size, "\n",
                        rewrite, " row ", lanes);
  }

  std::string Argument(char kind, const For& loop) {
    switch (kind) {
      case 'l':
        return Name(loop.iterator);
      case 'i':
        return Inner(loop);
      case 'n':
        return Next(loop);
      case 'g':
        return Name((grids_.empty() ? &loop : random_.Pick(grids_))->iterator);
      case 's':
        return Name(
            (movable_.empty() ? &loop : random_.Pick(movable_))->iterator);
      case 'b':
        return random_.Pick(program_.buffers).name;
      case '#':
        return absl::StrCat(1 + Below(loop.extent));
      case 'k':
        return Below(4) != 0 ? "grid" : Below(2) == 0 ? "for" : "unroll";
      case '?':
        return Below(3) == 0 ? Next(loop) : "";
      default:  // no more than there must be
        return "";
    }
  }

  int64_t Below(size_t bound) {
    return random_.Below(static_cast<int64_t>(bound));
  }

  // The loops in which the buffer is written, outer ones first.
  std::vector<const For*> LoopsAround(BufferId buffer) {
    std::vector<const For*> around;
    for (const For* loop : loops_) {
      bool writes = false;
      WalkStmts(loop->body, [&](const Stmt& stmt) {
        writes = writes || WrittenBy(program_, stmt) == buffer;
      });
      if (writes) around.push_back(loop);
    }
    return around;
  }

  // A loop in `loop`: what can be reordered is there.
  std::string Inner(const For& loop) {
    const For* inner = loop.body.stmts.empty()
                           ? nullptr
                           : std::get_if<For>(&loop.body.stmts[0]);
    return Name((inner == nullptr ? loop : *inner).iterator);
  }

  // The loop behind `loop` in the text.
  std::string Next(const For& loop) {
    const Stmt* next = nullptr;
    auto find = [&](const std::vector<Stmt>& stmts) {
      for (size_t k = 0; k + 1 < stmts.size(); ++k) {
        const For* here = std::get_if<For>(&stmts[k]);
        if (here == &loop) next = &stmts[k + 1];
      }
    };
    find(program_.body.stmts);
    for (const For* around : loops_) find(around->body.stmts);
    const For* after = next == nullptr ? nullptr : std::get_if<For>(next);
    return Name((after == nullptr ? loop : *after).iterator);
  }

  const LoopProgram& program_;
  Random& random_;
  std::vector<const For*> loops_;
  std::vector<const For*> movable_;  // what stands behind needs them not
  std::vector<const For*> grids_;
  std::vector<BufferId> temps_, privates_, zeroed_;
};

}  // namespace

RandomlyRewritten RewriteAtRandom(
    LoopProgram program,
    absl::FunctionRef<void(const LoopProgram& program, absl::string_view lines)>
        observe) {
  const std::string text = Print(program);
  Random random(XXH64(text.data(), text.size(), 0));
  std::string script;
  int done = 0;
  for (int k = 0; k < kTries && done < kMaxRewrites; ++k) {
    Line line(program, random);
    if (!line.HasLoops()) break;
    const std::string attempt = line.Text();
    observe(program, attempt);
    absl::StatusOr<LoopProgram> next = rewrite::RunScript(program, attempt);
    if (!next.ok()) continue;
    program = *std::move(next);
    absl::StrAppend(&script, attempt, "\n");
    ++done;
  }
  return {.program = std::move(program), .script = std::move(script)};
}

}  // namespace ocannl::fuzz
