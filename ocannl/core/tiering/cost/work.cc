// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/cost/work.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ocannl/core/schedule/refusal.h"

namespace ocannl {
namespace {

// Each statement of the body that writes a buffer. A local at the top level is
// one number, so it is not a nest.
template <class Visit>
void WalkNests(const LoopProgram& program, Visit visit) {
  for (const Stmt& stmt : program.body.stmts) {
    if (!WrittenNames(program, stmt).empty()) visit(stmt);
  }
}

}  // namespace

std::vector<NestWork> WorkOf(const LoopProgram& program) {
  std::vector<NestWork> nests;
  WalkNests(program, [&](const Stmt& stmt) {
    nests.push_back(NestWorkOf(program, {{stmt}}));
  });
  return nests;
}

std::string PrintWork(const LoopProgram& program) {
  std::vector<std::string> names;
  WalkNests(program, [&](const Stmt& stmt) {
    const bool zeroes = std::holds_alternative<ZeroOut>(stmt);
    names.push_back(
        absl::StrCat(zeroes ? "zero_out " : "", WrittenNames(program, stmt)));
  });
  std::vector<NestWork> rows = WorkOf(program);
  NestWork sum;
  for (const NestWork& row : rows) {
    sum.flops += row.flops;
    sum.bytes_read += row.bytes_read;
    sum.bytes_written += row.bytes_written;
  }
  rows.push_back(sum);
  names.push_back("sum");
  size_t width = 4;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string text =
      absl::StrFormat("%-*s %15s %15s %15s %11s\n", width, "nest", "flops",
                      "bytes read", "bytes written", "flops/byte");
  for (size_t k = 0; k < rows.size(); ++k) {
    const NestWork& row = rows[k];
    const double bytes = row.bytes_read + row.bytes_written;
    absl::StrAppendFormat(&text, "%-*s %15.0f %15.0f %15.0f %11.2f\n", width,
                          names[k], row.flops, row.bytes_read,
                          row.bytes_written, row.flops / std::max(bytes, 1.));
  }
  return text;
}

}  // namespace ocannl
