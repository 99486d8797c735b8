// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/text.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ocannl {
namespace {

// Longer operands are written "..." in the text of an expression.
constexpr size_t kMaxOperandText = 40;

// How tightly an expression holds together: operands of the same level or a
// lower one are in parentheses, but not the first one of the same level.
enum Level { kLoose, kComparison, kSum, kProduct, kTight };

Level LevelOf(Op op) {
  switch (op) {
    case Op::kMul:
    case Op::kDiv:
    case Op::kRem:
    case Op::kNeg:
      return kProduct;
    case Op::kAdd:
    case Op::kSub:
      return kSum;
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kEqual:
    case Op::kNotEqual:
      return kComparison;
    default:
      return IsInfix(op) ? kLoose : kTight;
  }
}

// Whether the text is name(...), and not the like of f(x) + f(y).
bool IsCall(absl::string_view text) {
  const size_t open = text.find_first_of("( ");
  if (open == 0 || open == absl::string_view::npos || text[open] == ' ') {
    return false;
  }
  int depth = 0;
  size_t close = open;
  do {
    depth += text[close] == '(' ? 1 : text[close] == ')' ? -1 : 0;
  } while (depth > 0 && ++close < text.size());
  return close + 1 == text.size();
}

Level LevelOf(const TensorNode& node) {
  if (node.named || IsCall(node.text)) return kTight;
  if (std::holds_alternative<SliceSource>(node.source)) return kLoose;
  if (EinsumOf(node.source) != nullptr) return kLoose;
  const auto* compute = std::get_if<ComputeSource>(&node.source);
  const bool has_op = compute != nullptr && compute->op;
  return has_op ? LevelOf(*compute->op) : kTight;
}

// `least` is the level that needs no parentheses.
std::string OperandText(const TensorNode& node, Level least) {
  std::string text = node.named ? node.name : node.text;
  if (text.size() > kMaxOperandText) return "...";
  return LevelOf(node) < least ? absl::StrCat("(", text, ")") : text;
}

// The operands; `first` and `rest` are the levels that need no parentheses.
std::vector<std::string> OperandTexts(const Graph& graph,
                                      absl::Span<const TensorId> ids,
                                      Level first, Level rest) {
  std::vector<std::string> texts;
  for (TensorId id : ids) {
    texts.push_back(OperandText(graph[id], texts.empty() ? first : rest));
  }
  return texts;
}

std::string InfixText(const Graph& graph, absl::string_view symbol, Level level,
                      absl::Span<const TensorId> ids) {
  Level first = level == kLoose ? kTight : level;
  Level rest = level == kLoose ? kTight : static_cast<Level>(level + 1);
  return absl::StrJoin(OperandTexts(graph, ids, first, rest),
                       absl::StrCat(" ", symbol, " "));
}

// The operator of the notation; other reductions are parts of functions.
absl::string_view ReduceSymbol(std::optional<Op> op, Op accum,
                               size_t operands) {
  if (!op && operands > 1) return "++^";
  const bool adds = op == Op::kAdd;
  switch (accum) {
    case Op::kMax:
      return adds ? "@^+" : "@^^";
    case Op::kMin:
      return adds ? "@-+" : "@--";
    default:
      return adds ? "+++" : op ? "+*" : "++";
  }
}

}  // namespace

std::string OperandText(const TensorNode& node) {
  return OperandText(node, kLoose);
}

std::string CallText(absl::string_view function, absl::string_view spec,
                     absl::Span<const TensorNode* const> args,
                     absl::string_view rest) {
  std::vector<std::string> texts;
  if (!spec.empty()) texts.push_back(absl::StrCat("\"", spec, "\""));
  for (const TensorNode* arg : args) texts.push_back(OperandText(*arg));
  return absl::StrCat(function, "(", absl::StrJoin(texts, ", "), rest, ")");
}

std::string ReshapeText(const TensorNode& of, const Shape& shape) {
  return CallText("reshape", ToString(shape), {&of});
}

std::string SliceText(const TensorNode& of, absl::string_view index) {
  return absl::StrCat(OperandText(of, kTight), " @| ", index);
}

std::string ComposeText(const Graph& graph, absl::Span<const TensorId> ids) {
  return InfixText(graph, "*", kProduct, ids);
}

std::string PointwiseText(const Graph& graph, Op op,
                          std::optional<DType> wanted,
                          absl::Span<const TensorId> ids) {
  if (op == Op::kNeg)
    return absl::StrCat("-", OperandText(graph[ids[0]], kTight));
  // `*` is the product of tensors.
  absl::string_view symbol = op == Op::kMul ? "*." : Info(op).text;
  if (IsInfix(op)) return InfixText(graph, symbol, LevelOf(op), ids);
  auto texts = OperandTexts(graph, ids, kLoose, kLoose);
  return absl::StrCat(wanted ? CallName(op, *wanted) : symbol, "(",
                      absl::StrJoin(texts, ", "), ")");
}

absl::Status TwoGraphs(const TensorNode& a, const TensorNode& b,
                       SourceLocation where) {
  const std::string place = ToString(where);
  return absl::InvalidArgumentError(absl::StrCat(
      Describe(a), " and ", Describe(b), " are tensors of two graphs",
      place.empty() ? "" : absl::StrCat(", which meet in ", place),
      "; make both in one"));
}

std::string ConversionText(const TensorNode& node, DType dtype) {
  std::string operand = OperandText(node, kLoose);
  std::string enumerator(Name(dtype));
  enumerator[0] = absl::ascii_toupper(enumerator[0]);
  return absl::StrCat(Name(dtype), "(", operand, "), in C++ Convert(", operand,
                      ", DType::k", enumerator, ")");
}

std::string ReduceText(const Graph& graph, std::optional<Op> op, Op accum,
                       absl::string_view spec, absl::Span<const TensorId> ids) {
  auto texts = OperandTexts(graph, ids, kTight, kTight);
  return absl::StrCat(texts[0], " ", ReduceSymbol(op, accum, ids.size()), " \"",
                      spec, "\"", ids.size() > 1 ? " " : "",
                      absl::StrJoin(texts.begin() + 1, texts.end(), " "));
}

}  // namespace ocannl
