// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/print.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/assign/pad.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/ops/print.h"

namespace ocannl {
namespace {

std::string Operator(const Assign& assign) {
  if (!assign.accum) return "=:";
  return absl::StrCat(assign.reset ? "=:" : "=",
                      IsInfix(*assign.accum) ? "" : " ",
                      Info(*assign.accum).text);
}

// The index that a cell of integers holds, if one does.
std::string RowText(const Assignments& assignments, const Assign& assign) {
  if (!assign.lookup) return "";
  const auto& ids = std::get<ReadArray>(assign.sources[assign.lookup->ids]);
  return absl::StrCat("[", assignments.arrays[ids.array].name, "]");
}

std::string PrintAssign(const Assignments& assignments, const Assign& assign) {
  std::string rhs =
      PrintExpr(assignments.exprs, assign.rhs, [&](const Leaf& leaf) {
        return std::visit(
            Overload{
                [&](const ReadArray& read) {
                  return assignments.arrays[read.array].name;
                },
                [](const ReadIndex& read) { return read.text; },
                [&](const ReadLookup& read) {
                  return absl::StrCat(
                      assignments.arrays[read.table.array].name, "[",
                      assignments.arrays[read.ids.array].name, "]");
                },
            },
            assign.sources[leaf.id]);
      });
  std::string text = absl::StrCat("  ", assignments.arrays[assign.lhs].name,
                                  RowText(assignments, assign), " ",
                                  Operator(assign), " ", rhs);
  if (absl::StartsWith(assign.logic, "@|")) {
    absl::StrAppend(&text, " ", assign.logic);
  } else if (!assign.logic.empty()) {
    absl::StrAppend(&text, " ~logic:\"", assign.logic, "\"");
  }
  return absl::StrCat(text, ";\n");
}

}  // namespace

std::string PrintCd(const Assignments& assignments) {
  std::string text = absl::StrCat(
      assignments.name, " (",
      absl::StrJoin(assignments.statics, ", ",
                    [](std::string* out, const StaticSymbol& index) {
                      absl::StrAppend(out, index.name);
                      if (!index.range) return;
                      absl::StrAppend(out, " : [0..", *index.range - 1, "]");
                    }),
      "):\n");
  for (const Assignment& assignment : assignments.list) {
    std::visit(Overload{
                   [&](const Assign& assign) {
                     for (const std::string& padding :
                          DescribePadding(assignments, assign)) {
                       absl::StrAppend(&text, "  # ", padding, "\n");
                     }
                     text += PrintAssign(assignments, assign);
                   },
                   [&](const BlockComment& comment) {
                     absl::StrAppend(&text, "  # \"", comment.text, "\";\n");
                   },
               },
               assignment);
  }
  return text;
}

}  // namespace ocannl
