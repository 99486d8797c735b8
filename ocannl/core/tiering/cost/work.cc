// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/cost/work.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ocannl/core/schedule/refusal.h"
#include "ocannl/core/tiering/cost/nest_work.h"

namespace ocannl {
namespace {

Work WorkOf(const LoopProgram& program, const Stmt& stmt) {
  const NestWork work = NestWorkOf(program, {{stmt}});
  const bool zeroes = std::holds_alternative<ZeroOut>(stmt);
  return {absl::StrCat(zeroes ? "zero_out " : "", WrittenNames(program, stmt)),
          work.arithmetic, work.flops, work.bytes_read, work.bytes_written};
}

}  // namespace

std::vector<Work> WorkOf(const LoopProgram& program) {
  std::vector<Work> nests;
  for (const Stmt& stmt : program.body.stmts) {
    if (std::holds_alternative<Comment>(stmt)) continue;
    nests.push_back(WorkOf(program, stmt));
  }
  return nests;
}

std::string PrintWork(const LoopProgram& program) {
  std::vector<Work> rows = WorkOf(program);
  Work sum{.name = "sum"};
  for (const Work& work : rows) {
    sum.flops += work.flops;
    sum.bytes_read += work.bytes_read;
    sum.bytes_written += work.bytes_written;
  }
  rows.push_back(std::move(sum));
  size_t width = 4;
  for (const Work& row : rows) width = std::max(width, row.name.size());
  std::string text =
      absl::StrFormat("%-*s %15s %15s %15s %11s\n", width, "nest", "flops",
                      "bytes read", "bytes written", "flops/byte");
  for (const Work& row : rows) {
    const double bytes = row.bytes_read + row.bytes_written;
    absl::StrAppendFormat(&text, "%-*s %15.0f %15.0f %15.0f %11.2f\n", width,
                          row.name, row.flops, row.bytes_read,
                          row.bytes_written, row.flops / std::max(bytes, 1.));
  }
  return text;
}

}  // namespace ocannl
