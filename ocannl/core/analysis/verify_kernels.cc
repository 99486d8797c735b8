// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/analysis/verify_kernels.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/analysis/phases.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::gpu {
namespace {

class KernelVerifier {
 public:
  explicit KernelVerifier(const LoopProgram& program) : program_(program) {}

  // `threads` is how many the loops around the block have.
  absl::Status Visit(const Block& block, int64_t threads) const {
    for (const Stmt& stmt : block.stmts) {
      const For* loop = std::get_if<For>(&stmt);
      if (loop == nullptr) continue;
      OCANNL_RETURN_IF_ERROR(VisitLoop(*loop, threads));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status VisitLoop(const For& loop, int64_t threads) const {
    const bool is_thread = loop.kind == LoopKind::kThread;
    if (is_thread && loop.extent > kMaxThreads / threads) {
      return absl::InvalidArgumentError(absl::StrCat(
          "thread loop ", Name(loop.iterator), " makes a block of more than ",
          kMaxThreads, " threads; split it, and put the rest in a loop"));
    }
    if (is_thread || loop.kind == LoopKind::kGrid) {
      OCANNL_RETURN_IF_ERROR(CheckNone(
          WhyNotParallel(program_, loop), program_,
          absl::StrCat("the ", is_thread ? "threads" : "blocks", " of ",
                       Name(loop.iterator), " are not independent")));
    }
    return Visit(loop.body, is_thread ? threads * loop.extent : threads);
  }

  const LoopProgram& program_;
};

// Of one statement, the body of `program`.
absl::Status VerifyNest(const LoopProgram& program) {
  OCANNL_RETURN_IF_ERROR(KernelVerifier(program).Visit(program.body, 1));
  const For* grid = std::get_if<For>(&program.body.stmts[0]);
  if (grid == nullptr || grid->kind != LoopKind::kGrid) return absl::OkStatus();
  const int64_t bytes = SharedBytes(program, grid->body);
  if (bytes > kMaxSharedBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the blocks of ", Name(grid->iterator), " share ", bytes,
        " bytes, but there are ", kMaxSharedBytes, "; share smaller tiles"));
  }
  for (BufferId id : EffectsOf(program, program.body.stmts[0]).buffers()) {
    if (program.buffers[id].role != Role::kPrivate) continue;
    OCANNL_RETURN_IF_ERROR(ThreadAxes(program, grid->body, id).status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyKernels(const LoopProgram& program) {
  // Each nest by itself, as what is asked of one walks over all of the program.
  // A private or shared buffer is of one nest.
  LoopProgram alone = program;
  for (Stmt& stmt : std::exchange(alone.body.stmts, {})) {
    alone.body.stmts.clear();
    alone.body.stmts.push_back(std::move(stmt));
    OCANNL_RETURN_IF_ERROR(VerifyNest(alone));
  }
  return absl::OkStatus();
}

}  // namespace ocannl::gpu
