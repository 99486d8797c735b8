// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/nest_scheduler.h"

#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/analysis/references.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/cpu/contract.h"
#include "ocannl/core/schedule/cpu/map.h"
#include "ocannl/core/schedule/cpu/nest_rewriter.h"
#include "ocannl/core/schedule/cpu/rows.h"
#include "ocannl/core/schedule/cpu/verify_part.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"

namespace ocannl {
namespace {

// A row of fewer cells is zeroed before the nest: its lanes would be idle.
constexpr int64_t kMinZeroedRow = 16;

// Rewrites the nests of a program, one after the other.
class NestScheduler {
 public:
  // With `verifies`, each nest is verified among those that share its buffers,
  // and one that is refused stays as it was.
  NestScheduler(LoopProgram& program, const Target& target,
                const ScheduleOptions& options, bool verifies)
      : program_(program),
        target_(target),
        options_(options),
        verifies_(verifies) {}

  // Error, with the program lost: that of a rewrite; none if it `verifies`.
  absl::Status Run(const FusedNests& nests) {
    stmts_ = std::move(program_.body.stmts);
    program_.body.stmts.clear();
    for (size_t k = 0; k < stmts_.size(); ++k) {
      if (nests[k] == nullptr) {
        done_.stmts.push_back(std::move(stmts_[k]));
      } else {
        OCANNL_RETURN_IF_ERROR(RunNest(k, *nests[k]));
        OCANNL_RETURN_IF_ERROR(FuseZeroOut(k));
      }
    }
    program_.body = std::move(done_);
    return absl::OkStatus();
  }

 private:
  // Appends what becomes of statement k to those that are done.
  absl::Status RunNest(size_t k, const FusedNest& nest) {
    NestRewriter rewriter(program_, std::move(stmts_[k]), options_.legality,
                          options_.script);
    return Run(rewriter, k, [&] { return Rewrite(rewriter, nest); });
  }

  // Has the last loop, of statement k, zero what it writes of the buffer of a
  // zero_out right before it: so the cells are still in cache, and several
  // threads do it.
  absl::Status FuseZeroOut(size_t k) {
    std::vector<Stmt>& stmts = done_.stmts;
    const std::optional<BufferId> buffer = BufferToZero(stmts);
    if (!buffer) return absl::OkStatus();
    Stmt nest = std::move(stmts.back());
    stmts.pop_back();
    const For& outer = std::get<For>(nest);
    const NestLoop loop = {outer.iterator, outer.extent};
    const bool is_parallel = outer.kind == LoopKind::kPar;
    NestRewriter rewriter(program_, std::move(stmts.back()), options_.legality,
                          options_.script);
    stmts.pop_back();
    rewriter.rewriter().Append(std::move(nest));
    return Run(rewriter, k, [&]() -> absl::Status {
      OCANNL_ASSIGN_OR_RETURN(const NestLoop zeroes,
                              rewriter.ZeroRows(*buffer));
      if (is_parallel) OCANNL_RETURN_IF_ERROR(rewriter.Parallel(zeroes));
      return rewriter.Fuse(zeroes, loop);
    });
  }

  // That of a zero_out before the last loop, of which each iteration of the
  // loop uses a row, and no other one does; nullopt: there is none.
  std::optional<BufferId> BufferToZero(const std::vector<Stmt>& stmts) const {
    if (stmts.size() < 2) return std::nullopt;
    const auto* zero = std::get_if<ZeroOut>(&stmts[stmts.size() - 2]);
    const For* loop = std::get_if<For>(&stmts.back());
    if (zero == nullptr || loop == nullptr) return std::nullopt;
    const Dims& dims = program_.buffers[zero->buffer].dims;
    if (dims.empty() || dims[0] != loop->extent || loop->extent < 2 ||
        NumElements(dims) < dims[0] * kMinZeroedRow ||
        (loop->kind != LoopKind::kFor && loop->kind != LoopKind::kPar)) {
      return std::nullopt;
    }
    bool writes = false;
    bool is_own = true;
    auto visit = [&](const Access& access, const Lookup* lookup) {
      if (access.buffer != zero->buffer) return;
      writes = true;
      is_own &= lookup == nullptr &&
                access.indices[0] == Affine(Iterator(loop->iterator));
    };
    WalkStmts(loop->body, [&](const Stmt& stmt) {
      if (const Set* set = std::get_if<Set>(&stmt)) {
        visit(set->target, nullptr);
      } else if (WrittenBy(program_, stmt) == zero->buffer) {
        is_own = false;
      }
      WalkReadsAndLookups(program_, stmt, visit);
    });
    if (!writes || !is_own || NumZeroOuts(zero->buffer) > 1) {
      return std::nullopt;
    }
    return zero->buffer;
  }

  // How many zero_outs of the buffer are done. A script names the first one by
  // its buffer, and has no name for the others.
  int NumZeroOuts(BufferId buffer) const {
    int found = 0;
    WalkStmts(done_, [&](const Stmt& stmt) {
      const auto* zero = std::get_if<ZeroOut>(&stmt);
      if (zero != nullptr && zero->buffer == buffer) ++found;
    });
    return found;
  }

  // Rewrites the body of the program, which is of statement k, and appends it
  // to those that are done.
  absl::Status Run(NestRewriter& rewriter, size_t k,
                   absl::FunctionRef<absl::Status()> rewrite) {
    std::optional<rewrite::Rewriter::Savepoint> before;
    if (verifies_) before.emplace(rewriter.rewriter()).SaveAll();
    absl::Status status = rewrite();
    if (status.ok() && options_.fault) {
      status = options_.fault("rewrite", program_);
    }
    if (!verifies_) OCANNL_RETURN_IF_ERROR(status);
    if (status.ok() && verifies_) status = VerifyNest(k);
    if (!status.ok()) {
      before->RollBack();
      Report(RefusalOf(program_, program_.body.stmts[0], "rewrite",
                       std::string(status.message())),
             options_.refused);
    }
    std::move(rewriter).MoveTo(done_);
    return absl::OkStatus();
  }

  // What Verify says of the nest, the body of the program, among statements
  // that share what it touches, and of its loops: those that are done and those
  // behind statement k. By induction it accepts all of the program in the end.
  absl::Status VerifyNest(size_t k) {
    absl::flat_hash_set<BufferId> touched;
    for (BufferId id : EffectsOf(program_, program_.body).buffers()) {
      if (!IsReadOnly(program_.buffers[id].role)) touched.insert(id);
    }
    Block part;
    auto add = [&](const Stmt& stmt) {
      const Effects effects = EffectsOf(program_, stmt);
      auto shares = [&](BufferId id) { return touched.contains(id); };
      if (absl::c_any_of(effects.buffers(), shares) ||
          !effects.local_reads.empty() || !effects.local_writes.empty()) {
        part.stmts.push_back(stmt);
      }
    };
    absl::c_for_each(done_.stmts, add);
    absl::c_copy(program_.body.stmts, std::back_inserter(part.stmts));
    absl::c_for_each(absl::MakeConstSpan(stmts_).subspan(k + 1), add);
    OCANNL_RETURN_IF_ERROR(
        VerifyAmong(program_, part, [&](BufferId id, Role role) {
          return touched.contains(id) ? role : Role::kInOut;
        }));
    return options_.legality == rewrite::Legality::kProve ? CheckKinds(program_)
                                                          : absl::OkStatus();
  }

  absl::Status Rewrite(NestRewriter& rewriter, const FusedNest& nest) {
    return std::visit(Overload{
                          [&](const MapNest& map) {
                            return ScheduleMap(rewriter, map.nest,
                                               map.consumers, target_);
                          },
                          [&](const Contraction& contraction) {
                            return ScheduleContract(rewriter, contraction);
                          },
                          [&](const ScatterNest& scatter) {
                            return ScheduleScatter(rewriter, scatter, target_);
                          },
                          [&](const FusedRows& rows) {
                            return ScheduleRows(rewriter, rows, target_);
                          },
                      },
                      nest);
  }

  LoopProgram& program_;
  const Target& target_;
  const ScheduleOptions& options_;
  const bool verifies_;
  std::vector<Stmt> stmts_;  // those from the next one on are left to do
  Block done_;
};

}  // namespace

absl::Status ScheduleNests(LoopProgram& program, const FusedNests& nests,
                           const Target& target, const ScheduleOptions& options,
                           bool verifies) {
  return NestScheduler(program, target, options, verifies).Run(nests);
}

}  // namespace ocannl
