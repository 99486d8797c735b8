// SPDX-License-Identifier: Apache-2.0
#include "ocannl/interp/explain_nonfinite.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
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

// Origins that are told apart: more are one with the last of these.
constexpr size_t kMostOrigins = 100'000;

}  // namespace

absl::Status ExplainNonfinite::Starts(const RunState&) {
  origins_.clear();
  taints_.clear();
  return absl::OkStatus();
}

absl::Status ExplainNonfinite::Meets(const RunState&, const Stmt& stmt) {
  const auto* zero = std::get_if<ZeroOut>(&stmt);
  if (zero == nullptr) return absl::OkStatus();
  absl::erase_if(taints_, [&](const auto& taint) {
    return taint.first.first == zero->buffer.index;
  });
  return absl::OkStatus();
}

absl::Status ExplainNonfinite::Stores(const RunState& run, const Stmt& stmt,
                                      const Constant& result) {
  const bool is_finite = IsFinite(result);
  if (is_finite && taints_.empty()) return absl::OkStatus();
  const Cell cell = CellOf(run, TargetOf(run.program(), stmt));
  std::optional<size_t> origin;
  if (!is_finite) origin = FindOrigin(run, stmt, *ValueOf(stmt), result);
  if (!origin) {
    taints_.erase(cell);
    return absl::OkStatus();
  }
  const bool is_result =
      cell.first >= 0 &&
      IsResult(run.program().buffers[BufferId{cell.first}].role);
  taints_.insert_or_assign(cell, Taint{*origin, is_result});
  return absl::OkStatus();
}

absl::Status ExplainNonfinite::Ends() {
  size_t first = origins_.size();
  for (const auto& [cell, taint] : taints_) {
    if (taint.is_result) first = std::min(first, taint.origin);
  }
  if (first == origins_.size()) return absl::OkStatus();
  return absl::OutOfRangeError(origins_[first]);
}

ExplainNonfinite::Cell ExplainNonfinite::CellOf(const RunState& run,
                                                const LeafValue& leaf) {
  if (const auto* get = std::get_if<GetLocal>(&leaf)) {
    return {-1 - get->local.index, 0};
  }
  const LeafValue here = SubstituteIndices(
      leaf, [&](Symbol symbol) { return Affine(run.ValueOf(symbol)); });
  const auto* lookup = std::get_if<Lookup>(&here);
  const Access& cell = lookup ? lookup->cell : std::get<Access>(here);
  const Dims& dims = run.program().buffers[cell.buffer].dims;
  int64_t number = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    int64_t index = cell.indices[axis].offset();
    if (lookup && lookup->axis == static_cast<int32_t>(axis)) {
      const std::optional<Constant> row = run.Read(*lookup->index);
      index = row ? static_cast<int64_t>(ToDouble(*row)) : 0;
    }
    number = number * dims[axis] + index;
  }
  return {cell.buffer.index, number};
}

std::optional<size_t> ExplainNonfinite::FindOrigin(const RunState& run,
                                                   const Stmt& stmt,
                                                   ExprId value,
                                                   const Constant& result) {
  const LoopProgram& program = run.program();
  absl::flat_hash_set<ExprId> seen;
  std::vector<ExprId> stack = {value};
  while (!stack.empty()) {
    const ExprId id = stack.back();
    stack.pop_back();
    if (!seen.insert(id).second) continue;
    if (const auto* leaf = std::get_if<Leaf>(&program.exprs[id])) {
      const LeafValue& read = program.At(*leaf);
      if (std::holds_alternative<Affine>(read)) continue;
      const auto taint = taints_.find(CellOf(run, read));
      if (taint != taints_.end()) return taint->second.origin;
    }
    const Apply* apply = std::get_if<Apply>(&program.exprs[id]);
    if (apply == nullptr) continue;
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
    if (finite) return AddOrigin(run, stmt, id, result);
  }
  return std::nullopt;
}

size_t ExplainNonfinite::AddOrigin(const RunState& run, const Stmt& stmt,
                                   ExprId origin, const Constant& result) {
  if (origins_.size() == kMostOrigins) return kMostOrigins - 1;
  const LoopProgram& program = run.program();
  const ExprId value = *ValueOf(stmt);
  std::string text = absl::StrCat(
      "`", program.name, "` makes ", PrintConstant(run.ValueOf(origin)),
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
  if (origin != value) {
    add(PrintValue(program, origin), PrintConstant(run.ValueOf(origin)));
  }
  add(TextOf(run, TargetOf(program, stmt)), PrintConstant(result));
  origins_.push_back(std::move(text));
  return origins_.size() - 1;
}

}  // namespace ocannl::interp
