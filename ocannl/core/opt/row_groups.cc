// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/division.h"
#include "ocannl/core/opt/row_groups.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/index/projections.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

using Temps = absl::btree_set<BufferId>;

// How many assignments the statement does.
double Work(const Stmt& stmt) {
  const For* loop = std::get_if<For>(&stmt);
  if (loop == nullptr) return std::holds_alternative<Set>(stmt) ? 1 : 0;
  double work = 0;
  for (const Stmt& inner : loop->body.stmts) work += Work(inner);
  return work * static_cast<double>(loop->extent);
}

int64_t PowerOfTwoUpTo(int64_t most) {
  int64_t power = 1;
  while (2 * power <= most) power *= 2;
  return power;
}

bool HasRows(const LoopProgram& program, const RowGroup& group, BufferId temp) {
  const RowAxis* axis = group.space.AxisOf(temp);
  if (axis == nullptr) return false;
  return axis->grain > 1 ||
         (axis->offset == 0 &&
          program.buffers[temp].dims[axis->axis] == group.rows);
}

// Of all temps of which a block has rows.
int64_t BytesOfRow(const LoopProgram& program, const RowGroup& group) {
  int64_t bytes = 0;
  for (BufferId temp : group.temps) {
    if (group.space.AxisOf(temp)->grain > 1) continue;
    const Buffer& buffer = program.buffers[temp];
    bytes += *ByteSize(buffer.dtype, buffer.dims) / group.rows;
  }
  return bytes;
}

// False: the rows are too few to be cut.
bool ChooseBlock(const LoopProgram& program, const BlockRowsOptions& options,
                 RowGroup& group) {
  const int64_t bytes = BytesOfRow(program, group);
  if (bytes == 0) return false;
  int64_t least = 1;
  for (const RowPart& part : group.parts) {
    if (part.rows.row_terms == 0 || !part.rows.fine.valid()) continue;
    least = std::max(least, options.least_terms / part.rows.row_terms);
  }
  group.block = PowerOfTwoUpTo(std::max(options.block_bytes / bytes, least));
  while (group.block * options.most_blocks < group.rows) group.block *= 2;
  for (const RowPart& part : group.parts) {
    if (!part.rows.coarse.valid()) continue;
    while (part.rows.grain % group.block != 0 ||
           part.rows.offset % group.block != 0) {
      group.block /= 2;
    }
  }
  // Grains of few rows may need more blocks: then the temps stay whole.
  return group.block < group.rows &&
         CeilDiv(group.rows, group.block) <= 2 * options.most_blocks;
}

// What each statement of a program reads and writes.
class StmtEffects {
 public:
  explicit StmtEffects(const LoopProgram& program) : program_(program) {
    for (size_t k = 0; k < program.body.stmts.size(); ++k) {
      effects_.push_back(EffectsOf(program, program.body.stmts[k]));
      for (BufferId buffer : effects_[k].writes) writers_[buffer].push_back(k);
    }
  }

  const Effects& operator[](size_t k) const { return effects_[k]; }

  bool AnyConflict(const std::vector<size_t>& others, size_t k) const {
    return absl::c_any_of(others, [&](size_t other) {
      return Conflict(effects_[other], effects_[k]);
    });
  }

  // In order.
  const std::vector<size_t>& WritersOf(BufferId buffer) const {
    return writers_.at(buffer);
  }

  // Whether a statement from `first` up to before `end` writes the buffer.
  bool HasWriter(BufferId buffer, size_t first, size_t end) const {
    const auto writers = writers_.find(buffer);
    if (writers == writers_.end()) return false;
    const auto at = absl::c_lower_bound(writers->second, first);
    return at != writers->second.end() && *at < end;
  }

  // How many terms a cell takes, about.
  double TermsOf(BufferId temp) const {
    double most = 1;
    for (size_t writer : WritersOf(temp)) {
      most = std::max(most, Work(program_.body.stmts[writer]));
    }
    return most / static_cast<double>(NumElements(program_.buffers[temp].dims));
  }

 private:
  const LoopProgram& program_;
  std::vector<Effects> effects_;
  absl::btree_map<BufferId, std::vector<size_t>> writers_;
};

class GroupFinder {
 public:
  GroupFinder(const LoopProgram& program, absl::Span<const BufferId> temps,
              const BlockRowsOptions& options)
      : program_(program),
        options_(options),
        temps_(temps.begin(), temps.end()),
        effects_(program) {}

  std::vector<RowGroup> Run() {
    while (!Find()) {
    }
    return std::move(groups_);
  }

 private:
  const std::vector<Stmt>& stmts() const { return program_.body.stmts; }

  // False: some temps cannot be cut and are none of temps_ any more.
  bool Find() {
    groups_.clear();
    again_.clear();
    for (size_t k = 0; k < stmts().size();) {
      if (TempsOf(k).empty()) {
        ++k;
        continue;
      }
      if (!Grow(k)) return false;
      k = groups_.back().end;
    }
    for (const auto& [temp, times] : again_) {
      if (static_cast<double>(times) * effects_.TermsOf(temp) >
          static_cast<double>(options_.most_terms_again)) {
        return Drop({temp});
      }
    }
    for (RowGroup& group : groups_) {
      if (!ChooseBlock(program_, options_, group)) return Drop(group.temps);
    }
    return true;
  }

  bool Drop(const std::vector<BufferId>& temps) {
    for (BufferId temp : temps) temps_.erase(temp);
    return false;
  }

  std::vector<BufferId> TempsOf(size_t k) const {
    std::vector<BufferId> temps;
    for (BufferId buffer : effects_[k].buffers()) {
      if (temps_.contains(buffer)) temps.push_back(buffer);
    }
    return temps;
  }

  // ---- Growing a group -----------------------------------------------------

  // Appends the group that starts with statement `first`, which has temps.
  bool Grow(size_t first) {
    RowGroup group{.begin = first,
                   .end = first,
                   .before = {},
                   .parts = {},
                   .after = {},
                   .rows = 0,
                   .block = 0,
                   .temps = {},
                   .space = RowSpace(program_)};
    for (size_t k = first; k < stmts().size(); ++k) {
      const std::vector<BufferId> temps = TempsOf(k);
      if (temps.empty()) {
        Place(group, k);
        continue;
      }
      if (IsOther(group, k)) break;
      std::vector<BufferId> to_blame = temps;
      if (effects_.AnyConflict(group.after, k) ||
          !JoinAll(group, k, to_blame)) {
        if (k == first) return Drop(to_blame);
        break;
      }
      group.end = k + 1;
    }
    return Finish(std::move(group));
  }

  // Whether statement k shares no temp with the group, so that a group of its
  // own needs less memory.
  bool IsOther(const RowGroup& group, size_t k) const {
    auto has_rows = [&](BufferId temp) {
      return group.space.AxisOf(temp) != nullptr;
    };
    return !std::holds_alternative<ZeroOut>(stmts()[k]) &&
           absl::c_any_of(group.temps, has_rows) &&
           absl::c_none_of(TempsOf(k), [&](BufferId temp) {
             return group.space.Touches(temp);
           });
  }

  // Finds a place for a statement that has no temps.
  void Place(RowGroup& group, size_t k) {
    if (std::holds_alternative<Comment>(stmts()[k])) {
      return group.before.push_back(k);
    }
    if (effects_.AnyConflict(group.after, k)) return group.after.push_back(k);
    const bool is_used = absl::c_any_of(group.parts, [&](const RowPart& part) {
      return Conflict(effects_[part.stmt], effects_[k]);
    });
    if (!is_used) return group.before.push_back(k);
    const std::optional<RowLoops> rows = group.space.Join(stmts()[k], {});
    if (!rows) return group.after.push_back(k);
    group.parts.push_back({k, *rows});
  }

  // Statement k joins, after those that make what it uses of other groups.
  bool JoinAll(RowGroup& group, size_t k, std::vector<BufferId>& to_blame) {
    const RowGroup before = group;
    absl::btree_set<size_t> needed;
    Temps made;
    const bool can_repeat = FindMakers(group.space, k, needed, made);
    if (!made.empty()) to_blame.assign(made.begin(), made.end());
    bool joined = can_repeat;
    for (auto at = needed.begin(); joined && at != needed.end(); ++at) {
      joined = JoinOne(group, *at);
    }
    if (joined) {
      to_blame = TempsOf(k);
      joined = JoinOne(group, k);
    }
    if (!joined) {
      group = before;
      return false;
    }
    for (BufferId temp : made) ++again_[temp];
    return true;
  }

  bool JoinOne(RowGroup& group, size_t k) {
    const std::vector<BufferId> temps = TempsOf(k);
    std::optional<RowLoops> rows;
    if (const auto* zero = std::get_if<ZeroOut>(&stmts()[k])) {
      if (!group.space.JoinZeroOut(zero->buffer)) return false;
      rows.emplace();
    } else {
      rows = group.space.Join(stmts()[k], temps);
    }
    if (!rows) return false;
    group.parts.push_back({k, *rows});
    for (BufferId temp : temps) {
      if (!absl::c_linear_search(group.temps, temp))
        group.temps.push_back(temp);
    }
    return true;
  }

  // What writes the temps of statement k that are not in the space, and the
  // temps that this takes. False: not all of it can be done again there.
  bool FindMakers(const RowSpace& space, size_t k,
                  absl::btree_set<size_t>& needed, Temps& made) const {
    std::vector<BufferId> wanted;
    auto want = [&](BufferId temp) {
      if (!space.Touches(temp) && made.insert(temp).second) {
        wanted.push_back(temp);
      }
    };
    const bool is_new = std::holds_alternative<ZeroOut>(stmts()[k]);
    for (BufferId temp : TempsOf(k)) {
      if (!is_new && effects_.HasWriter(temp, 0, k)) want(temp);
    }
    while (!wanted.empty()) {
      const BufferId temp = wanted.back();
      wanted.pop_back();
      for (size_t writer : effects_.WritersOf(temp)) {
        if (writer >= k || !needed.insert(writer).second) continue;
        if (!CanRepeat(space, writer, k)) return false;
        absl::c_for_each(TempsOf(writer), want);
      }
    }
    return true;
  }

  // Whether the statement would do the same right before statement k.
  bool CanRepeat(const RowSpace& space, size_t stmt, size_t k) const {
    const bool writes_more =
        absl::c_any_of(effects_[stmt].writes, [&](BufferId buffer) {
          return !temps_.contains(buffer) &&
                 !IsOfNest(program_.buffers[buffer].role);
        });
    return !writes_more &&
           absl::c_none_of(effects_[stmt].reads, [&](BufferId buffer) {
             if (IsOfNest(program_.buffers[buffer].role)) return false;
             // Other temps are made again, with all that is written there.
             if (temps_.contains(buffer) && !space.Touches(buffer))
               return false;
             return effects_.HasWriter(buffer, stmt + 1, k);
           });
  }

  // ---- The whole group -----------------------------------------------------

  bool Finish(RowGroup group) {
    const std::vector<BufferId> unused = group.temps;
    auto is_behind = [&](size_t k) { return k >= group.end; };
    std::erase_if(group.before, is_behind);
    std::erase_if(group.after, is_behind);
    std::erase_if(group.parts,
                  [&](const RowPart& part) { return is_behind(part.stmt); });
    // The group that fills the temp zeroes it.
    auto is_unused = [&](BufferId temp) {
      return group.space.AxisOf(temp) == nullptr;
    };
    std::erase_if(group.parts, [&](const RowPart& part) {
      const auto* zero = std::get_if<ZeroOut>(&stmts()[part.stmt]);
      return zero != nullptr && is_unused(zero->buffer);
    });
    std::erase_if(group.temps, is_unused);
    if (group.temps.empty()) return Drop(unused);
    // Parts without temps that no later one needs are done once, for all rows.
    std::vector<RowPart> parts;
    for (; !group.parts.empty(); group.parts.pop_back()) {
      const RowPart& part = group.parts.back();
      const bool stays =
          !TempsOf(part.stmt).empty() ||
          absl::c_any_of(parts, [&](const RowPart& later) {
            return Conflict(effects_[part.stmt], effects_[later.stmt]);
          });
      if (stays) {
        parts.push_back(part);
      } else {
        group.after.push_back(part.stmt);
      }
    }
    group.parts.assign(parts.rbegin(), parts.rend());
    absl::c_sort(group.after);
    group.rows = group.space.rows();
    for (BufferId temp : group.temps) {
      if (!HasRows(program_, group, temp)) return Drop({temp});
    }
    groups_.push_back(std::move(group));
    return true;
  }

  const LoopProgram& program_;
  const BlockRowsOptions& options_;
  Temps temps_;
  const StmtEffects effects_;
  std::vector<RowGroup> groups_;
  absl::btree_map<BufferId, int> again_;  // how often each is made again
};

}  // namespace

std::vector<RowGroup> FindRowGroups(const LoopProgram& program,
                                    absl::Span<const BufferId> temps,
                                    const BlockRowsOptions& options) {
  if (temps.empty()) return {};
  return GroupFinder(program, temps, options).Run();
}

}  // namespace ocannl
