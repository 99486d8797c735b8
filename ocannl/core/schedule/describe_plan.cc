// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "ocannl/core/schedule/plan.h"

namespace ocannl {

std::string Describe(const LoopProgram& program, const PerfectNest& nest,
                     const ContractPlan& plan) {
  auto tiles = [](const std::vector<Segment>& segments) {
    std::string text;
    for (const Segment& segment : segments) {
      absl::StrAppend(&text, text.empty() ? "" : " + ", segment.count, "*",
                      segment.size);
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
  absl::StrAppend(&text, ": rows ", tiles(plan.rows));
  if (plan.q) absl::StrAppend(&text, ", layers ", tiles(plan.layers));
  absl::StrAppend(&text, ", columns ", tiles(plan.columns), ", unroll ",
                  plan.unroll);
  if (plan.group > 1) absl::StrAppend(&text, ", groups of ", plan.group);
  if (plan.has_parts()) absl::StrAppend(&text, ", parts ", tiles(plan.parts));
  if (plan.packed) {
    absl::StrAppend(&text, ", pack ",
                    program.buffers[plan.packed->buffer].name);
  }
  if (plan.packed_rows) {
    absl::StrAppend(&text, ", pack rows of ",
                    program.buffers[plan.packed_rows->buffer].name);
  }
  return text;
}

}  // namespace ocannl
