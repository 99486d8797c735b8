// SPDX-License-Identifier: Apache-2.0
//
// Random programs: what the tests of dependence.h allow, a list of all cells
// that each iteration touches allows too.
#include <cstdio>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "tests/support/random_program.h"

namespace ocannl {
namespace {

constexpr int64_t kStaticRange = 3;

// One access of one run of a statement.
struct Event {
  std::pair<BufferId, int64_t> cell;  // buffer and place
  bool writes;
  int stmt;  // its number in the program
  std::map<IteratorId, int64_t> at;
};

class Tracer {
 public:
  Tracer(const LoopProgram& program, int64_t s) : program_(program), s_(s) {
    int number = 0;
    WalkStmts(program.body,
              [&](const Stmt& stmt) { number_[&stmt] = ++number; });
    Run(program.body);
  }

  const std::vector<Event>& events() const { return events_; }

 private:
  int64_t Eval(const Affine& index) const {
    int64_t sum = index.offset();
    for (const Affine::Term& term : index.terms()) {
      bool is_static = term.symbol.kind == Symbol::kStatic;
      sum += term.factor * (is_static ? s_ : at_.at(term.symbol.iterator()));
    }
    return sum;
  }

  void Touch(const Access& access, bool writes, int stmt) {
    const Dims& dims = program_.buffers[access.buffer].dims;
    int64_t cell = 0;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      cell = cell * dims[axis] + Eval(access.indices[axis]);
    }
    events_.push_back({{access.buffer, cell}, writes, stmt, at_});
  }

  void Run(const Block& block) {
    for (const Stmt& stmt : block.stmts) {
      if (const For* loop = std::get_if<For>(&stmt)) {
        for (int64_t i = 0; i < loop->extent; ++i) {
          at_[loop->iterator] = i;
          Run(loop->body);
        }
        at_.erase(loop->iterator);
        continue;
      }
      const int number = number_.at(&stmt);
      if (const ZeroOut* zero = std::get_if<ZeroOut>(&stmt)) {
        const Dims& dims = program_.buffers[zero->buffer].dims;
        for (int64_t cell = 0; cell < NumElements(dims); ++cell) {
          events_.push_back({{zero->buffer, cell}, true, number, at_});
        }
        continue;
      }
      WalkLeaves(program_, *ValueOf(stmt), [&](const LeafValue& leaf) {
        const Lookup* lookup = std::get_if<Lookup>(&leaf);
        if (lookup != nullptr)
          return TouchRow(*lookup, /*writes=*/false, number);
        Touch(std::get<Access>(leaf), /*writes=*/false, number);
      });
      const Scatter* scatter = std::get_if<Scatter>(&stmt);
      if (scatter != nullptr) {
        TouchRow(program_.TargetOf(*scatter), /*writes=*/true, number);
      } else {
        Touch(std::get<Set>(stmt).target, /*writes=*/true, number);
      }
    }
  }

  // The number that a cell of `ids` holds, here.
  int64_t RowAt(int64_t cell) const { return (cell * cell + s_) % 5 - 1; }

  void TouchRow(const Lookup& lookup, bool writes, int stmt) {
    Touch(*lookup.index, /*writes=*/false, stmt);
    const int64_t row = RowAt(Eval(lookup.index->indices[0]));
    Access cell = lookup.cell;
    const int64_t size = program_.buffers[cell.buffer].dims[lookup.axis];
    if (row < 0 || row >= size) return;
    cell.indices[lookup.axis] = row;
    Touch(cell, writes, stmt);
  }

  const LoopProgram& program_;
  const int64_t s_;
  std::map<const Stmt*, int> number_;
  std::map<IteratorId, int64_t> at_;
  std::vector<Event> events_;  // in the order of the program
};

bool Conflict(const Event& a, const Event& b) {
  return a.cell == b.cell && (a.writes || b.writes);
}

bool IsStraightLine(const For& loop) {
  bool straight = true;
  WalkLoops(loop.body, [&](const For&) { straight = false; });
  return straight;
}

// What is true of a loop, by the events of one run.
struct Truth {
  bool parallel = true;
  bool lanes = true;
  bool interchange = true;
};

// The iterators of `event` before `loop` in the program, which encloses it.
std::map<IteratorId, int64_t> Around(const Event& event, const For& loop) {
  return {event.at.begin(), event.at.find(loop.iterator)};
}

Truth TruthOf(const std::vector<Event>& events, const For& loop) {
  const For* inner = std::get_if<For>(&loop.body.stmts[0]);
  Truth truth;
  truth.lanes = IsStraightLine(loop);
  truth.interchange = loop.body.stmts.size() == 1 && inner != nullptr;
  for (size_t j = 0; j < events.size(); ++j) {
    for (size_t i = 0; i < j; ++i) {
      const Event& a = events[i];
      const Event& b = events[j];
      const bool inside =
          a.at.contains(loop.iterator) && b.at.contains(loop.iterator);
      if (!inside || !Conflict(a, b)) continue;
      if (Around(a, loop) != Around(b, loop)) continue;
      if (a.at.at(loop.iterator) == b.at.at(loop.iterator)) continue;
      truth.parallel = false;
      if (a.stmt > b.stmt || (a.stmt == b.stmt && a.writes)) {
        truth.lanes = false;
      }
      if (truth.interchange &&
          a.at.at(inner->iterator) > b.at.at(inner->iterator)) {
        truth.interchange = false;
      }
    }
  }
  return truth;
}

struct Score {
  int possible = 0;
  int allowed = 0;
  void Count(bool truth, bool claim) {
    possible += truth ? 1 : 0;
    allowed += claim ? 1 : 0;
  }
};

// What happens when the static index is 0, 1, and so on.
std::vector<std::vector<Event>> RunsOf(const LoopProgram& program) {
  std::vector<std::vector<Event>> runs;
  for (int64_t s = 0; s < kStaticRange; ++s) {
    runs.push_back(Tracer(program, s).events());
  }
  return runs;
}

TEST(DependenceRandomTest, AllowsNothingThatTouchedCellsForbid) {
  constexpr uint32_t kPrograms = 2000;
  Score parallel, lanes, interchange;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    const LoopProgram program =
        RandomProgram({.roles = {Role::kInOut, Role::kInOut},
                       .static_range = kStaticRange,
                       .loop_percent = 33,
                       .perfect_percent = 50,
                       .zero_percent = 2,
                       .fill_percent = 30,
                       .looks_up = true},
                      seed);
    const std::vector<std::vector<Event>> runs = RunsOf(program);
    WalkLoops(program.body, [&](const For& loop) {
      Truth truth;
      for (const std::vector<Event>& events : runs) {
        Truth one = TruthOf(events, loop);
        truth.parallel &= one.parallel;
        truth.lanes &= one.lanes;
        truth.interchange &= one.interchange;
      }
      const std::string where = absl::StrCat(
          "seed ", seed, ", loop ", Name(loop.iterator), "\n", Print(program));
      const bool is_parallel = IsParallel(program, loop);
      EXPECT_TRUE(truth.parallel || !is_parallel) << where;
      const bool as_lanes = CanRunAsLanes(program, loop);
      EXPECT_TRUE(truth.lanes || !as_lanes) << where;
      const bool can_interchange = !WhyNotInterchange(program, loop);
      EXPECT_TRUE(truth.interchange || !can_interchange) << where;
      if (loop.extent == 1) return;
      parallel.Count(truth.parallel, is_parallel);
      lanes.Count(truth.lanes, as_lanes);
      interchange.Count(truth.interchange, can_interchange);
    });
  }
  std::printf(
      "%u programs (seeds from 0); allowed of possible: parallel %d/%d,"
      " lanes %d/%d, interchange %d/%d\n",
      kPrograms, parallel.allowed, parallel.possible, lanes.allowed,
      lanes.possible, interchange.allowed, interchange.possible);
  EXPECT_GT(parallel.allowed, parallel.possible / 2);
  EXPECT_GT(lanes.allowed, lanes.possible / 2);
  EXPECT_GT(interchange.allowed, interchange.possible / 2);
}

// Whether the cells that both loops touch, one writing, they touch in the same
// iteration: `second` after `first` as before, whatever the iterations' order.
bool MayFuse(const std::vector<Event>& events, const For& first,
             const For& second) {
  for (const Event& a : events) {
    if (!a.at.contains(first.iterator)) continue;
    for (const Event& b : events) {
      if (!b.at.contains(second.iterator) || !Conflict(a, b)) continue;
      if (Around(a, first) != Around(b, second)) continue;
      if (a.at.at(first.iterator) != b.at.at(second.iterator)) return false;
    }
  }
  return true;
}

// Calls `visit` with each loop and the one that follows at once.
void VisitNeighbours(const Block& block,
                     absl::FunctionRef<void(const For&, const For&)> visit) {
  const For* before = nullptr;
  for (const Stmt& stmt : block.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop != nullptr) VisitNeighbours(loop->body, visit);
    if (loop != nullptr && before != nullptr) visit(*before, *loop);
    before = loop;
  }
}

TEST(DependenceRandomTest, FusesNothingThatTouchedCellsForbid) {
  constexpr uint32_t kPrograms = 10'000;
  Score fuse;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    const LoopProgram program = RandomProgram(
        {.roles = {Role::kInOut, Role::kInOut, Role::kInOut, Role::kInOut},
         .static_range = kStaticRange,
         .most_nests = 3,
         .extents = {2, 3},
         .loop_percent = 33,
         .zero_percent = 2,
         .fill_percent = 50,
         .looks_up = true},
        seed);
    const std::vector<std::vector<Event>> runs = RunsOf(program);
    VisitNeighbours(program.body, [&](const For& first, const For& second) {
      if (first.extent != second.extent) {
        EXPECT_TRUE(WhyNotFuse(program, first, second));
        return;
      }
      bool may_fuse = true;
      for (const std::vector<Event>& events : runs) {
        may_fuse = may_fuse && MayFuse(events, first, second);
      }
      const bool can_fuse = !WhyNotFuse(program, first, second);
      EXPECT_TRUE(may_fuse || !can_fuse)
          << "seed " << seed << ", loops " << Name(first.iterator) << " and "
          << Name(second.iterator) << "\n"
          << Print(program);
      fuse.Count(may_fuse, can_fuse);
    });
  }
  std::printf("%u programs (seeds from 0); allowed of possible: fuse %d/%d\n",
              kPrograms, fuse.allowed, fuse.possible);
  EXPECT_GT(fuse.allowed, fuse.possible / 2);
}

}  // namespace
}  // namespace ocannl
