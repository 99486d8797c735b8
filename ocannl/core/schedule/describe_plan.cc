// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "ocannl/core/schedule/plan.h"

namespace ocannl {

std::string Describe(const LoopProgram& program, const PerfectNest& nest,
                     const ContractPlan& plan) {
  auto tiles = [](const std::vector<TileRange>& ranges) {
    std::string text;
    for (const TileRange& range : ranges) {
      absl::StrAppend(&text, text.empty() ? "" : " + ", range.count, "*",
                      range.size);
    }
    return text;
  };
  std::string text = absl::StrCat("contract ");
  for (const NestLoop& loop : plan.outer) {
    absl::StrAppend(&text, loop.extent, " of ");
  }
  absl::StrAppend(&text, plan.m ? plan.m->extent : 1, " x ");
  if (plan.q) absl::StrAppend(&text, plan.q->extent, " x ");
  absl::StrAppend(&text, plan.n.extent);
  for (const NestLoop& loop : nest.reduced) {
    absl::StrAppend(&text, " x ", loop.extent);
  }
  absl::StrAppend(&text, ": rows ", tiles(plan.m_tiles));
  if (plan.q) absl::StrAppend(&text, ", layers ", tiles(plan.q_tiles));
  absl::StrAppend(&text, ", columns ", tiles(plan.n_tiles), ", unroll ",
                  plan.unroll);
  if (plan.panels_per_block > 1)
    absl::StrAppend(&text, ", groups of ", plan.panels_per_block);
  if (plan.has_k_blocks())
    absl::StrAppend(&text, ", parts ", tiles(plan.k_blocks));
  if (plan.packed_b) {
    absl::StrAppend(&text, ", pack ",
                    program.buffers[plan.packed_b->buffer].name);
  }
  if (plan.packed_a) {
    absl::StrAppend(&text, ", pack rows of ",
                    program.buffers[plan.packed_a->buffer].name);
  }
  return text;
}

}  // namespace ocannl
