// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/passes/pipeline.h"

#include <string>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/jit/vcode/passes/fold.h"
#include "ocannl/jit/vcode/passes/hoist_constants.h"
#include "ocannl/jit/vcode/passes/interleaved.h"
#include "ocannl/jit/vcode/passes/legalize.h"
#include "ocannl/jit/vcode/passes/transpose.h"
#include "ocannl/jit/vcode/select/select.h"
#include "ocannl/jit/vcode/verify.h"

namespace ocannl::jit {
namespace {

constexpr VcodePass kPasses[] = {
    {"interleave", LowerInterleaved},
    {"transpose", TransposeLoads},
    {"fold", Fold},
    {"legalize", Legalize, /*is_optional=*/false},
    {"hoist_constants", HoistConstants},
};

// The parallel loop that is all that `block` does: threads share its
// iterations, but each would do what is around it or adjacent to it.
const For* FindSharedLoop(const Block& block) {
  const Block* at = &block;
  while (at->stmts.size() == 1) {
    const For* loop = std::get_if<For>(&at->stmts[0]);
    if (loop == nullptr) return nullptr;
    if (loop->extent > 1) {
      return loop->kind == LoopKind::kPar ? loop : nullptr;
    }
    at = &loop->body;
  }
  return nullptr;
}

}  // namespace

absl::Span<const VcodePass> VcodePasses() { return kPasses; }

std::vector<Block> SplitNests(const Block& body) {
  std::vector<Block> nests;
  bool has_local = false;
  for (const Stmt& stmt : body.stmts) {
    if (std::holds_alternative<Comment>(stmt)) continue;
    if (!has_local) nests.emplace_back();
    nests.back().stmts.push_back(stmt);
    has_local = has_local || std::holds_alternative<DeclareLocal>(stmt);
  }
  return nests;
}

absl::StatusOr<std::vector<Nest>> LowerToVcode(
    LoopProgram& program, absl::Span<const Block> blocks, Isa isa,
    VcodeObserver observer, absl::Span<const std::string> skip) {
  std::vector<Nest> nests;
  nests.reserve(blocks.size());
  for (const Block& block : blocks) {
    Nest nest = Select(program, block, isa);
    if (const For* shared = FindSharedLoop(block)) {
      CHECK_EQ(nest.loops[0].iterator, shared->iterator);
      nest.loops[0].is_parallel = true;
    }
    observer("select", nest);
    for (const VcodePass& pass : kPasses) {
      if (pass.is_optional && absl::c_linear_search(skip, pass.name)) continue;
      pass.run(nest, isa);
      observer(pass.name, nest);
    }
    if (absl::Status status = Verify(nest); !status.ok()) {
      return absl::InternalError(absl::StrCat(
          "VCode of nest ", nests.size(), " of ", program.name,
          " breaks a rule, which is a bug of ours: ", status.message()));
    }
    nests.push_back(std::move(nest));
  }
  return nests;
}

}  // namespace ocannl::jit
