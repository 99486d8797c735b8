// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/opt/dead_code.h"

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/renumber.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

// A store that nothing reads is dead, and so is what it alone reads: what no
// live store, other than its own accumulation, reads. Each statement and each
// read is looked at once.
class Liveness {
 public:
  explicit Liveness(const LoopProgram& program)
      : program_(program),
        num_buffers_(program.buffers.size()),
        readers_(num_buffers_ + program.locals.size()),
        writers_(readers_.size()) {
    WalkStmts(program_.body, [&](const Stmt& stmt) { Add(stmt); });
    for (BufferId k : program_.buffers.ids()) {
      // Whoever runs the program reads the others.
      if (!IsScratch(program_.buffers[k].role)) ++readers_[Number(k)];
    }
    std::vector<uint32_t> dead;
    for (uint32_t k = 0; k < readers_.size(); ++k) {
      if (readers_[k] == 0) dead.push_back(k);
    }
    are_all_live_ = dead.empty();
    while (!dead.empty()) {
      const Numbers& stores = writers_[dead.back()];
      dead.pop_back();
      for (size_t store : stores) {
        for (size_t k = first_read_[store]; k < first_read_[store + 1]; ++k) {
          if (--readers_[reads_[k]] == 0) dead.push_back(reads_[k]);
        }
      }
    }
  }

  bool AreAllLive() const { return are_all_live_; }

  bool IsLive(BufferId buffer) const { return readers_[Number(buffer)] > 0; }
  bool IsLive(LocalId local) const { return readers_[Number(local)] > 0; }

 private:
  // Buffers come first, then locals.
  size_t Number(BufferId buffer) const { return buffer.index; }
  size_t Number(LocalId local) const { return num_buffers_ + local.index; }

  // What the statement stores to, if anything.
  std::optional<size_t> TargetOf(const Stmt& stmt) const {
    if (const auto* let = std::get_if<DeclareLocal>(&stmt)) {
      return Number(let->local);
    }
    if (const auto* set = std::get_if<SetLocal>(&stmt)) {
      return Number(set->local);
    }
    const BufferId buffer = WrittenBy(program_, stmt);
    return buffer.valid() ? std::optional(Number(buffer)) : std::nullopt;
  }

  void Add(const Stmt& stmt) {
    const std::optional<size_t> target = TargetOf(stmt);
    if (!target) return;
    auto add = [&](auto id) {
      if (Number(id) == *target) return;
      reads_.push_back(Number(id));
      ++readers_[Number(id)];
    };
    WalkReads(program_, stmt,
              [&](const Access& access) { add(access.buffer); });
    if (!program_.locals.empty()) {
      WalkLeaves(program_, stmt, [&](const LeafValue& leaf) {
        if (const auto* get = std::get_if<GetLocal>(&leaf)) add(get->local);
      });
    }
    writers_[*target].push_back(first_read_.size() - 1);
    first_read_.push_back(reads_.size());
  }

  const LoopProgram& program_;
  const size_t num_buffers_;
  using Numbers = absl::InlinedVector<uint32_t, 4>;
  std::vector<int> readers_;      // of each buffer and local
  std::vector<Numbers> writers_;  // of each: the numbers of stores
  std::vector<uint32_t> reads_;   // of all stores, but of their own cells
  std::vector<size_t> first_read_ = {0};  // of each store, in reads_
  bool are_all_live_ = false;
};

// Drops dead stores.
void Sweep(const LoopProgram& program, const Liveness& live, Block& block) {
  for (Stmt& stmt : block.stmts) {
    if (For* loop = std::get_if<For>(&stmt)) Sweep(program, live, loop->body);
  }
  std::erase_if(block.stmts, [&](const Stmt& stmt) {
    auto writes_live = [&](const auto&) {
      return live.IsLive(WrittenBy(program, stmt));
    };
    return !std::visit(
        Overload{
            [&](const For& loop) { return !loop.body.stmts.empty(); },
            [&](const Set& set) { return writes_live(set); },
            [&](const Scatter& scatter) { return writes_live(scatter); },
            [&](const ZeroOut& zero) { return writes_live(zero); },
            [&](const DeclareLocal& let) { return live.IsLive(let.local); },
            [&](const SetLocal& set) { return live.IsLive(set.local); },
            [](const Comment&) { return true; },
        },
        static_cast<const Stmt::variant&>(stmt));
  });
  // Virtualize and this pass may have removed most of what it has room for.
  block.stmts.shrink_to_fit();
}

// Numbers what is still mentioned anew.
LoopProgram Compact(LoopProgram program, const Liveness& live) {
  LoopProgram compact;
  compact.name = std::move(program.name);
  compact.statics = std::move(program.statics);
  IdVector<BufferId, BufferId> buffers;
  buffers.reserve(program.buffers.size());
  BufferId next = {0};
  for (BufferId k : program.buffers.ids()) {
    buffers.push_back(live.IsLive(k) ? next++ : BufferId());
  }
  compact.buffers.reserve(next.index);
  for (BufferId k : program.buffers.ids()) {
    if (live.IsLive(k)) compact.buffers.Add(std::move(program.buffers[k]));
  }
  IdVector<LocalId, LocalId> locals;
  for (LocalId k : program.locals.ids()) {
    locals.push_back(live.IsLive(k)
                         ? compact.locals.Add(std::move(program.locals[k]))
                         : LocalId());
  }
  compact.body =
      Renumber(program, std::move(program.body),
               {.buffer = [&](BufferId buffer) { return buffers[buffer]; },
                .local = [&](LocalId local) { return locals[local]; },
                .iterator = [](IteratorId iterator) { return iterator; }},
               compact);
  return compact;
}

}  // namespace

LoopProgram EliminateDeadCode(LoopProgram program) {
  const Liveness live(program);
  Sweep(program, live, program.body);
  if (live.AreAllLive()) return program;  // nothing is to be numbered anew
  return Compact(std::move(program), live);
}

}  // namespace ocannl
