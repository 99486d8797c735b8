// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/schedule_gpu.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/analysis/phases.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/analysis/verify_kernels.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/depth.h"
#include "ocannl/core/schedule/gpu/last_uses.h"
#include "ocannl/core/schedule/gpu/loop_order.h"
#include "ocannl/core/schedule/gpu/plan_map.h"
#include "ocannl/core/schedule/gpu/plan_product.h"
#include "ocannl/core/schedule/gpu/plan_rows.h"
#include "ocannl/core/schedule/gpu/vector_access.h"
#include "ocannl/core/schedule/gpu/waiting_stmts.h"
#include "ocannl/core/schedule/nests/product.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"

namespace ocannl::gpu {
namespace {

// Loops that a plan adds to a nest.
constexpr int kMoreLoops = 16;

// Blocks of rows that a processor has room for at once: with 4096 f32 of each
// in shared memory (tools/gpu_check.sh; docs/gpu/h200.md).
constexpr int64_t kBlocksOfRows = 8;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

constexpr char kPass[] = "the plan for a GPU";  // of refusals

using rewrite::NewLoops;
using Savepoint = rewrite::Rewriter::Savepoint;

// The bytes of the largest cell that the statement names.
int64_t GreatestCell(const LoopProgram& program, size_t at) {
  size_t bytes = 1;
  for (BufferId id : EffectsOf(program, program.body.stmts[at]).buffers()) {
    bytes = std::max(bytes, SizeOf(program.buffers[id].dtype));
  }
  return static_cast<int64_t>(bytes);
}

// The bytes of scratch that the statement has for itself.
int64_t BytesOfNest(const LoopProgram& program, size_t at) {
  int64_t bytes = 0;
  for (BufferId id : EffectsOf(program, program.body.stmts[at]).writes) {
    const Buffer& buffer = program.buffers[id];
    if (IsOfNest(buffer.role)) bytes += SharedBytes(buffer);
  }
  return bytes;
}

bool IsPlannable(const Stmt& stmt) {
  const For* loop = std::get_if<For>(&stmt);
  return loop != nullptr && loop->kind != LoopKind::kGrid &&
         rewrite::LoopDepthOf(loop->body) + 1 <= kMaxLoopDepth - kMoreLoops;
}

// All parallel loops of the statement and the next one, if these are as long
// and at most one of the two has more; else 0.
size_t LoopsAlike(const LoopProgram& program, size_t at) {
  const std::vector<NestLoop> first = ParallelLoops(program, at);
  const std::vector<NestLoop> second = ParallelLoops(program, at + 1);
  auto has_more = [&](size_t which) {
    return rewrite::LoopDepthOf(BodyOf(program, which, first.size())) > 0;
  };
  const bool are_alike = absl::c_equal(first, second,
                                       [](const auto& a, const auto& b) {
                                         return a.extent == b.extent;
                                       }) &&
                         !(has_more(at) && has_more(at + 1));
  return are_alike ? first.size() : 0;
}

// A row on the smallest GPUs may take all.
int64_t MostBytesOfRow(const GpuTarget& target) {
  return std::max(target.shared_bytes / kBlocksOfRows,
                  std::min<int64_t>(target.shared_bytes, 1024));
}

absl::Status VerifyAll(const LoopProgram& program) {
  OCANNL_RETURN_IF_ERROR(Verify(program));
  return VerifyKernels(program);
}

class GpuPlanner {
 public:
  GpuPlanner(const LoopProgram& program, const GpuTarget& target,
             const GpuOptions& options)
      : program_(program), target_(target), options_(options) {
    CountIterators(program_);
  }

  // Error: that of a rewrite, or what Verify says of the result.
  absl::StatusOr<GpuSchedule> Run() {
    OCANNL_RETURN_IF_ERROR(Prepare());
    waiting_.Begin();
    while (waiting_.Has(0)) {
      OCANNL_RETURN_IF_ERROR(Plan(0));
      waiting_.Done();
    }
    waiting_.End();
    OCANNL_RETURN_IF_ERROR(Verified());
    return GpuSchedule{.program = std::move(program_),
                       .script = std::move(script_)};
  }

  // Called after an error: verifies the plan of each nest. A refused nest is
  // planned again without cuts, because Verify cannot always see that the parts
  // of a loop write all that it writes, and then without fusion: it cannot see
  // either that a thread reads only what it wrote. If that fails too, the nest
  // stays.
  GpuSchedule RunVerified() {
    const absl::Status status = Prepare();
    for (size_t at = 0; status.ok() && at < Stmts().size(); ++at) {
      PlanVerified(at);
    }
    if (!status.ok()) {
      Report(
          {.nest = "", .pass = kPass, .reason = std::string(status.message())},
          options_.refused);
    }
    return {.program = std::move(program_), .script = std::move(script_)};
  }

 private:
  const std::vector<Stmt>& Stmts() const { return program_.body.stmts; }

  absl::Status Prepare() {
    if (absl::c_any_of(Stmts(), [](const Stmt& stmt) {
          return std::holds_alternative<DeclareLocal>(stmt);
        })) {
      OCANNL_RETURN_IF_ERROR(rewriter_.Demote());
    }
    ZeroLoops();
    last_uses_.Find(program_);
    return absl::OkStatus();
  }

  // What Verify and VerifyKernels say of the program.
  absl::Status Verified() const {
    if (options_.fault == nullptr) return VerifyAll(program_);
    LoopProgram made = program_;
    OCANNL_RETURN_IF_ERROR(options_.fault(made));
    return VerifyAll(made);
  }

  void PlanVerified(size_t at) {
    Savepoint before(rewriter_);
    absl::Status status;
    for (const int left_out : {0, 1, 2}) {
      cuts_ = left_out < 1;
      fuses_ = left_out < 2;
      status = Plan(at);
      if (status.ok()) status = Verified();
      if (status.ok()) return;
      before.RollBack();
    }
    Report(
        RefusalOf(program_, Stmts()[at], kPass, std::string(status.message())),
        options_.refused);
  }

  // Of zero_outs; they stand where what needs them first can take them in.
  void ZeroLoops() {
    std::vector<IteratorId> zeros;
    for (size_t at = 0; at < Stmts().size(); ++at) {
      // One in a loop may be the first of its buffer.
      while (const ZeroOut* zero = std::get_if<ZeroOut>(&Stmts()[at])) {
        const Buffer& buffer = program_.buffers[zero->buffer];
        if (static_cast<int>(buffer.dims.size()) > kMaxLoopDepth / 2) break;
        const rewrite::Made made = rewriter_.ZeroLoops(buffer.name);
        // One that stays runs in a single thread.
        if (!made.ok()) break;
        if (!made->empty()) zeros.push_back(made->front());
      }
    }
    for (IteratorId loop : zeros) {
      rewriter_.Sink(loop).IgnoreError();
    }
  }

  // The remainder becomes the next statement.
  absl::Status Plan(size_t at) {
    if (!IsPlannable(Stmts()[at])) return absl::OkStatus();
    PutOutputsFirst(rewriter_, at);
    const std::vector<NestLoop> loops = ParallelLoops(program_, at);
    if (loops.empty()) return absl::OkStatus();
    OCANNL_RETURN_IF_ERROR(Unschedule(rewriter_, at));
    FuseLike(at);
    if (PlanProduct(rewriter_, at, target_, cuts_) || PlanRows(at) ||
        PlanVectors(at)) {
      return absl::OkStatus();
    }
    ContractTemps(at, ParallelLoops(program_, at).back().iterator,
                  /*most_cells=*/1, kMost);
    return PlanMap(rewriter_, at, ParallelLoops(program_, at), target_, cuts_);
  }

  // A map whose threads read and write vectors, where all that it accesses
  // allows it and there is one for each thread of each processor.
  bool PlanVectors(size_t at) {
    std::vector<NestLoop> loops = ParallelLoops(program_, at);
    const int64_t width = kMostVectorBytes / GreatestCell(program_, at);
    NestLoop& strips = loops.back();
    if (width < 2 || strips.extent % width != 0) return false;
    strips.extent /= width;
    if (Iterations(loops) <
        static_cast<double>(target_.threads *
                            std::max<int64_t>(target_.multiprocessors, 1))) {
      return false;
    }
    Savepoint before(rewriter_);
    auto plan = [&]() -> absl::Status {
      OCANNL_ASSIGN_OR_RETURN(const NewLoops made,
                              rewriter_.Split(strips.iterator, width));
      ContractTemps(at, strips.iterator, width, kMost);
      OCANNL_RETURN_IF_ERROR(rewriter_.Vectorize(made[0]));
      const Block& body = BodyOf(program_, at, loops.size());
      const auto found =
          FindVectorAccesses(program_, std::get<For>(body.stmts[0]));
      if (!found || !found->is_all) return absl::NotFoundError("no vectors");
      return PlanMap(rewriter_, at, loops, target_, cuts_);
    };
    if (plan().ok()) return true;
    before.RollBack();
    return false;
  }

  // Of the statement's own temps there is what one iteration of the loop needs,
  // where each has so many cells at most and all that the nest has for itself
  // so many bytes.
  void ContractTemps(size_t at, IteratorId loop, int64_t most_cells,
                     int64_t most_bytes) {
    const LoopProgram& program = program_;
    for (BufferId id : last_uses_.OwnTemps(program, at, waiting_.size())) {
      Savepoint before(rewriter_);
      if (!rewriter_.ContractArray(program.buffers[id].name, loop).ok() ||
          NumElements(program.buffers[id].dims) > most_cells ||
          BytesOfNest(program, at) > most_bytes) {
        before.RollBack();
      }
    }
  }

  // Blocks of rows, where the statement or the next one reduces rows: what
  // else is done with them is done there, if that leaves blocks for all
  // processors, or little for each.
  bool PlanRows(size_t at) {
    size_t rows = RowLoops(program_, at, target_);
    const bool starts = rows > 0;
    if (!starts && waiting_.Has(at + 1) && IsPlannable(Stmts()[at + 1])) {
      rows = RowLoops(program_, at + 1, target_);
    }
    if (rows == 0 || !IsOfRows(program_, at, rows, target_)) {
      return false;
    }
    Savepoint alone(rewriter_);
    bool fused = false;
    while (HasBlocks(at, rows) && FuseRows(at, rows)) fused = true;
    for (const bool plans : {fused, starts}) {
      if (plans) {
        ContractTemps(at, ParallelLoops(program_, at)[rows - 1].iterator, kMost,
                      MostBytesOfRow(target_));
        if (gpu::PlanRows(rewriter_, at, rows, target_).ok()) return true;
      }
      alone.RollBack();
    }
    return false;
  }

  // Whether there are blocks for all processors, or little for each.
  bool HasBlocks(size_t at, size_t rows) const {
    std::vector<NestLoop> loops = ParallelLoops(program_, at);
    loops.resize(rows);
    return Iterations(loops) >= static_cast<double>(target_.multiprocessors) ||
           HasShortRows(program_, at, rows);
  }

  // Fuses the first `rows` loops of the statement with those of the next one,
  // and that one with what is like it before.
  bool FuseRows(size_t at, size_t rows) {
    Savepoint before(rewriter_);
    auto may_join = [&]() -> size_t {
      if (!IsOfRows(program_, at + 1, rows, target_)) return 0;
      FuseLike(at + 1);
      return IsOfRows(program_, at + 1, rows, target_) ? rows : 0;
    };
    if (FuseNext(at, may_join) &&
        BytesOfNest(program_, at) <= MostBytesOfRow(target_)) {
      return true;
    }
    before.RollBack();
    return false;
  }

  // Fuses the statement with the next ones that are like it.
  void FuseLike(size_t at) {
    while (FuseNext(at, [&] { return LoopsAlike(program_, at); })) {
    }
  }

  // Fuses as many of the first loops of the statement and the next one as
  // `may_join` says, which is asked when outputs are first; 0: none.
  bool FuseNext(size_t at, absl::FunctionRef<size_t()> may_join) {
    if (!fuses_ || !waiting_.Has(at + 1) || !IsPlannable(Stmts()[at + 1]))
      return false;
    PutOutputsFirst(rewriter_, at + 1);
    const size_t depth = may_join();
    if (depth == 0) return false;
    const std::vector<NestLoop> first = ParallelLoops(program_, at);
    const std::vector<NestLoop> second = ParallelLoops(program_, at + 1);
    Savepoint before(rewriter_);
    absl::Status status = Unschedule(rewriter_, at + 1);
    for (size_t k = 0; status.ok() && k < depth; ++k) {
      status = rewriter_.Fuse(first[k].iterator, second[k].iterator);
    }
    if (!status.ok()) before.RollBack();
    return status.ok();
  }

  LoopProgram program_;
  rewrite::Script script_;
  rewrite::Rewriter rewriter_{program_, &script_};
  const GpuTarget& target_;
  const GpuOptions& options_;
  bool cuts_ = true;
  bool fuses_ = true;
  LastUses last_uses_;
  WaitingStmts waiting_{program_, rewriter_, last_uses_};
};

}  // namespace

absl::StatusOr<LoopProgram> Demoted(LoopProgram program) {
  OCANNL_RETURN_IF_ERROR(rewrite::Demote(program));
  OCANNL_RETURN_IF_ERROR(VerifyPromises(program));
  OCANNL_RETURN_IF_ERROR(VerifyKernels(program));
  return program;
}

GpuSchedule PlanGpu(const LoopProgram& program, const GpuTarget& target,
                    const GpuOptions& options) {
  absl::StatusOr<GpuSchedule> plan = GpuPlanner(program, target, options).Run();
  if (plan.ok()) return *std::move(plan);
  return GpuPlanner(program, target, options).RunVerified();
}

LoopProgram ScheduleGpu(const LoopProgram& program, const GpuTarget& target,
                        const GpuOptions& options) {
  return PlanGpu(program, target, options).program;
}

}  // namespace ocannl::gpu
