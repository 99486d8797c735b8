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
#include "absl/types/span.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/schedule/cpu/contract.h"
#include "ocannl/core/schedule/cpu/map.h"
#include "ocannl/core/schedule/cpu/nest_rewriter.h"
#include "ocannl/core/schedule/cpu/rows.h"
#include "ocannl/core/schedule/cpu/verify_part.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"

namespace ocannl {
namespace {

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
  absl::Status Run(const std::vector<FusedNest>& nests) {
    stmts_ = std::move(program_.body.stmts);
    program_.body.stmts.clear();
    for (size_t k = 0; k < stmts_.size(); ++k) {
      if (std::holds_alternative<std::monostate>(nests[k])) {
        done_.stmts.push_back(std::move(stmts_[k]));
      } else {
        OCANNL_RETURN_IF_ERROR(RunNest(k, nests[k]));
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
    std::optional<rewrite::Rewriter::Savepoint> before;
    if (verifies_) before.emplace(rewriter.rewriter()).SaveAll();
    absl::Status status = Rewrite(rewriter, nest);
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
                          [](std::monostate) { return absl::OkStatus(); },
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

absl::Status ScheduleNests(LoopProgram& program,
                           const std::vector<FusedNest>& nests,
                           const Target& target, const ScheduleOptions& options,
                           bool verifies) {
  return NestScheduler(program, target, options, verifies).Run(nests);
}

}  // namespace ocannl
