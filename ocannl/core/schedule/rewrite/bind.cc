// SPDX-License-Identifier: Apache-2.0
//
// Bind and ZeroLoops: what a GPU runs at once, and what it can.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/loop/words.h"
#include "ocannl/core/ops/depth.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl::rewrite {
namespace {

// The first zero_out of the buffer in the block, outer statements before inner.
struct ZeroSite {
  Stmt* stmt = nullptr;
  int depth = 0;  // how many loops are around it
};

ZeroSite FindZeroOut(Block& block, BufferId buffer, int depth) {
  for (Stmt& stmt : block.stmts) {
    const ZeroOut* zero = std::get_if<ZeroOut>(&stmt);
    if (zero != nullptr && zero->buffer == buffer) return {&stmt, depth};
    For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr) continue;
    const ZeroSite inside = FindZeroOut(loop->body, buffer, depth + 1);
    if (inside.stmt != nullptr) return inside;
  }
  return {};
}

}  // namespace

absl::Status Bind(LoopProgram& program, IteratorId loop, LoopKind kind) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  if (kind == LoopKind::kGrid || kind == LoopKind::kThread) {
    OCANNL_RETURN_IF_ERROR(CheckNone(
        WhyNotParallel(program, site.loop()), program,
        absl::StrCat("iterations of ", Name(loop), " cannot be ",
                     kind == LoopKind::kGrid ? "blocks" : "threads")));
  }
  site.loop().kind = kind;
  return absl::OkStatus();
}

absl::Status ZeroLoops(LoopProgram& program, absl::string_view buffer) {
  OCANNL_ASSIGN_OR_RETURN(const BufferId id, FindBuffer(program, buffer));
  const ZeroSite site = FindZeroOut(program.body, id, 0);
  if (site.stmt == nullptr) {
    return UserError("there is no zero_out ", buffer);
  }
  const auto& [name, dtype, role, dims] = program.buffers[id];
  if (site.depth + static_cast<int>(dims.size()) > kMaxLoopDepth) {
    return UserError("`", buffer, "` has ", dims.size(),
                     " axes: loops over them would be too deep");
  }
  Set set{{id, {}}, program.exprs.Add(Constant{dtype, 0})};
  std::vector<NestLoop> loops;
  for (int64_t extent : dims) {
    loops.push_back({program.FreshIterator(), extent});
    set.target.indices.push_back(Iterator(loops.back().iterator));
  }
  *site.stmt = Around(loops, {std::move(set)});
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite
