// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ocannl/onnx/rules/rules.h"

namespace ocannl::onnx {
namespace {

// The axes of a batch of matrices: the rightmost batch axes pair up.
Axes MatrixAxes(int rank, int batch, const std::string& row,
                const std::string& column) {
  const Axes names = AxisNames(batch);
  Axes axes(names.end() - std::max(0, rank - 2), names.end());
  if (rank > 1) axes.push_back(row);
  axes.push_back(column);
  return axes;
}

absl::StatusOr<Outputs> GemmRule(const OpCall& call) {
  const bool turn_a = call.Whole("transA", 0) != 0;
  const bool turn_b = call.Whole("transB", 0) != 0;
  const Value product =
      Product({{call[0], turn_a ? Axes{"k", "m"} : Axes{"m", "k"}},
               {call[1], turn_b ? Axes{"n", "k"} : Axes{"k", "n"}}},
              {"m", "n"});
  const Value scaled = call.Number("alpha", 1) * product;
  if (!call.Has(2)) return scaled;
  return scaled + call.Number("beta", 1) * call[2];
}

// The axes of one operand: letters, and "..." for the axes that they leave.
Axes LetterAxes(absl::string_view letters, int ellipsis) {
  Axes axes;
  while (!letters.empty()) {
    if (absl::ConsumePrefix(&letters, "...")) {
      for (int k = ellipsis; k > 0; --k) axes.push_back(absl::StrCat("e", k));
      continue;
    }
    axes.push_back(std::string("axis_") + letters[0]);
    letters.remove_prefix(1);
  }
  return axes;
}

// What an equation without a result leaves: the letters that occur once.
std::string ImpliedResult(absl::string_view operands) {
  std::string result = "...";
  for (char letter : std::set<char>(operands.begin(), operands.end())) {
    const bool once = std::count(operands.begin(), operands.end(), letter) == 1;
    if (once && absl::ascii_isalpha(letter)) result += letter;
  }
  return result;
}

// Axes of one cell broadcast to the axes of the same letter of other operands.
void Broadcast(std::vector<Term>& terms) {
  std::set<std::string> longer;
  for (const Term& term : terms) {
    for (int k = 0; k < term.value.rank(); ++k) {
      if (term.value.dim(k) != 1) longer.insert(term.axes[k]);
    }
  }
  for (Term& term : terms) {
    for (int k = 0; k < term.value.rank(); ++k) {
      const bool is_one = term.value.dim(k) == 1;
      if (is_one && longer.contains(term.axes[k])) term.axes[k] = "0";
    }
  }
}

absl::StatusOr<Outputs> EinsumRule(const OpCall& call) {
  const std::string equation =
      absl::StrReplaceAll(call.Text("equation", ""), {{" ", ""}});
  std::vector<std::string> sides = absl::StrSplit(equation, "->");
  if (sides.size() == 1) sides.push_back(ImpliedResult(sides[0]));
  const std::vector<std::string> slots = absl::StrSplit(sides[0], ',');
  if (slots.size() > 2) {
    return absl::UnimplementedError("a product of more than two");
  }
  std::vector<Term> terms;
  int ellipsis = 0;
  for (size_t k = 0; k < slots.size(); ++k) {
    const int letters = static_cast<int>(LetterAxes(slots[k], 0).size());
    const int rest = call[k].rank() - letters;
    ellipsis = std::max(ellipsis, rest);
    terms.push_back({call[k], LetterAxes(slots[k], rest)});
  }
  Broadcast(terms);
  return Reduce(terms.size() > 1 ? std::optional(Op::kMul) : std::nullopt,
                Op::kAdd, terms, LetterAxes(sides[1], ellipsis));
}

}  // namespace

Value MatrixProduct(const Value& a, const Value& b) {
  const int batch = std::max({0, a.rank() - 2, b.rank() - 2});
  Axes left = MatrixAxes(a.rank(), batch, "m", "k");
  Axes right = MatrixAxes(b.rank(), batch, "k", "n");
  if (b.rank() == 1) right = {"k"};
  Axes result = AxisNames(batch);
  if (a.rank() > 1) result.push_back("m");
  if (b.rank() > 1) result.push_back("n");
  auto broadcast = [](const Value& value, Axes& axes) {
    for (int k = 0; k + 2 < value.rank(); ++k) {
      if (value.dim(k) == 1) axes[k] = "0";
    }
  };
  broadcast(a, left);
  broadcast(b, right);
  for (std::string& axis : result) {
    const bool named = std::count(left.begin(), left.end(), axis) +
                           std::count(right.begin(), right.end(), axis) >
                       0;
    if (!named) axis = "0";
  }
  return Product({{a, left}, {b, right}}, result);
}

std::vector<OpRule> ProductRules() {
  auto matmul = [](const OpCall& call) {
    return MatrixProduct(call[0], call[1]);
  };
  return {{"MatMul", matmul}, {"Gemm", GemmRule}, {"Einsum", EinsumRule}};
}

}  // namespace ocannl::onnx
