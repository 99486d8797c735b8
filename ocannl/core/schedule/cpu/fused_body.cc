// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/fused_body.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl {
namespace {

constexpr BufferId kTaken = {};  // the buffer where a statement was taken

}  // namespace

void FusedBody::Append(Stmt stmt, std::shared_ptr<const FusedNest> nest) {
  stmts_.push_back(std::move(stmt));
  nests_.push_back(std::move(nest));
}

std::vector<Stmt> FusedBody::Naming(absl::Span<const BufferId> buffers) {
  CollectUses();
  std::set<size_t> places;
  for (BufferId buffer : buffers) {
    places.insert(uses_[buffer].begin(), uses_[buffer].end());
  }
  std::vector<Stmt> stmts;
  for (size_t k : places) stmts.push_back(stmts_[k]);
  return stmts;
}

std::optional<FusedBody::Init> FusedBody::TakeInit(
    const Access& cell, absl::Span<const BufferId> written) {
  CollectUses();
  std::vector<size_t>& uses = uses_[cell.buffer];
  if (uses.empty()) return std::nullopt;
  const size_t last = uses.back();
  const std::optional<ExprId> value =
      rewrite::InitialValue(program_, stmts_[last], cell);
  if (!value) return std::nullopt;
  const std::vector<BufferId> reads = EffectsOf(program_, stmts_[last]).reads;
  auto is_written = [&](BufferId read) {
    return absl::c_linear_search(written, read) ||
           absl::c_any_of(uses_[read], [&](size_t k) {
             return k > last &&
                    absl::c_linear_search(EffectsOf(program_, stmts_[k]).writes,
                                          read);
           });
  };
  if (absl::c_any_of(reads, is_written)) return std::nullopt;
  for (BufferId read : reads) std::erase(uses_[read], last);
  uses.pop_back();
  nests_[last] = nullptr;
  return Init{std::exchange(stmts_[last], ZeroOut{kTaken}), *value};
}

FusedProgram FusedBody::MoveTo(LoopProgram program) && {
  FusedProgram fused{.program = std::move(program), .nests = {}};
  std::vector<Stmt>& stmts = fused.program.body.stmts;
  stmts.clear();
  fused.nests.reserve(nests_.size());
  for (size_t k = 0; k < stmts_.size(); ++k) {
    const ZeroOut* zero = std::get_if<ZeroOut>(&stmts_[k]);
    if (zero != nullptr && zero->buffer == kTaken) continue;
    stmts.push_back(std::move(stmts_[k]));
    fused.nests.push_back(std::move(nests_[k]));
  }
  return fused;
}

void FusedBody::CollectUses() {
  for (; seen_ < stmts_.size(); ++seen_) {
    for (BufferId id : EffectsOf(program_, stmts_[seen_]).buffers()) {
      uses_[id].push_back(seen_);
    }
  }
}

}  // namespace ocannl
