// SPDX-License-Identifier: Apache-2.0
#include "ocannl/interp/explain_nonfinite.h"

#include <cmath>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/print.h"

namespace ocannl::interp {
namespace {

bool IsFinite(const Constant& value) { return std::isfinite(ToDouble(value)); }

// The operation of `value`, which is not finite, that made it so; nullopt: it
// read that, or has it as a number.
std::optional<ExprId> FindOrigin(const RunState& run, ExprId value) {
  const ExprPool& pool = run.program().exprs;
  absl::flat_hash_set<ExprId> seen;
  std::vector<ExprId> stack = {value};
  while (!stack.empty()) {
    const ExprId id = stack.back();
    stack.pop_back();
    const Apply* apply = std::get_if<Apply>(&pool[id]);
    if (apply == nullptr || !seen.insert(id).second) continue;
    absl::Span<const ExprId> operands = apply->args;
    if (apply->op == Op::kSelect) {  // The other one does not matter.
      const bool first = run.ValueOf(operands[0]).bits != 0;
      operands = operands.subspan(first ? 1 : 2, 1);
    }
    bool finite = true;
    for (ExprId operand : operands) {
      if (IsFinite(run.ValueOf(operand))) continue;
      finite = false;
      stack.push_back(operand);
    }
    if (finite) return id;
  }
  return std::nullopt;
}

}  // namespace

absl::Status ExplainNonfinite::Stores(const RunState& run, const Stmt& stmt,
                                      const Constant& result) {
  if (IsFinite(result)) return absl::OkStatus();
  const ExprId value = *ValueOf(stmt);
  const std::optional<ExprId> origin = FindOrigin(run, value);
  if (!origin) return absl::OkStatus();
  const LoopProgram& program = run.program();
  std::string text = absl::StrCat(
      "`", program.name, "` makes ", PrintConstant(run.ValueOf(*origin)),
      " of finite numbers in\n", PrintStmt(program, stmt, /*depth=*/1),
      "where");
  auto add = [&](const std::string& name, const std::string& is) {
    absl::StrAppend(&text, "\n  ", name, " = ", is);
  };
  for (size_t k = 0; k < program.statics.size(); ++k) {
    add(program.statics[k].name, absl::StrCat(run.statics()[k]));
  }
  for (const LoopAt& loop : run.loops()) {
    add(Name(loop.iterator), absl::StrCat(loop.value));
  }
  absl::flat_hash_set<std::string> said;  // Two indices may be one cell.
  WalkLeaves(program, value, [&](const LeafValue& leaf) {
    if (std::holds_alternative<Affine>(leaf)) return;
    const std::string name = TextOf(run, leaf);
    if (!said.insert(name).second) return;
    const std::optional<Constant> read = run.Read(leaf);
    add(name, read ? PrintConstant(*read) : "unset");
  });
  if (*origin != value) {
    add(PrintValue(program, *origin), PrintConstant(run.ValueOf(*origin)));
  }
  add(TextOf(run, TargetOf(program, stmt)), PrintConstant(result));
  return absl::OutOfRangeError(text);
}

}  // namespace ocannl::interp
