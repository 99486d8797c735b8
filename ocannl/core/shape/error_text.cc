// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/error_text.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ocannl {
namespace {

// Of what else determines a row, that many operations are listed.
constexpr size_t kMaxOrigins = 20;

}  // namespace

std::string Label(const TensorNode& node) {
  if (node.named || IsNumberLike(node.source))
    return node.named ? node.name : node.text;
  return absl::StrCat("`", node.text, "`");
}

std::string DimsText(const Dims& dims) {
  if (dims.empty()) return "empty";
  return absl::StrJoin(dims, ",", [](std::string* out, int64_t size) {
    absl::StrAppend(out, size == 0 ? "?" : absl::StrCat(size));
  });
}

std::string ErrorText::RowText(RowRef row) const {
  std::optional<Dims> dims = row_(row);
  return dims ? DimsText(*dims) : "not known";
}

std::string ErrorText::RowWithName(RowRef row) const {
  return absl::StrCat("the ", Name(row.kind), " row of ",
                      Label(graph_[row.tensor]), " is ", RowText(row));
}

std::string ErrorText::ShapeText(TensorId id) const {
  auto text = [&](RowKind kind, absl::string_view after) {
    std::optional<Dims> dims = row_({id, kind});
    if (!dims) return absl::StrCat("?", after);
    return dims->empty() ? "" : absl::StrCat(DimsText(*dims), after);
  };
  return absl::StrCat(text(RowKind::kBatch, "|"), text(RowKind::kInput, "->"),
                      text(RowKind::kOutput, ""));
}

// Which tensor of the operation `node` it is.
std::string ErrorText::PlaceText(TensorId node, TensorId tensor) const {
  if (tensor == node) return "the result";
  const absl::Span<const TensorId> operands = OperandsOf(graph_[node].source);
  auto at = absl::c_find(operands, tensor);
  if (at == operands.end()) return "the first value";
  return absl::StrCat("operand ", at - operands.begin() + 1);
}

// What is given needs no origin.
std::string ErrorText::Origins(TensorId node,
                               absl::Span<const RowRef> rows) const {
  std::vector<std::pair<TensorId, TensorId>> origins;
  auto add = [&](TensorId from, RowRef row) {
    const TensorNode& tensor = graph_[row.tensor];
    bool is_given = tensor.spec[row.kind] || IsNumberLike(tensor.source) ||
                    std::holds_alternative<DataSource>(tensor.source);
    if (from == node || is_given || !absl::c_linear_search(rows, row)) return;
    origins.emplace_back(from, row.tensor);
  };
  for (const CoverRule& rule : rules_.covers) {
    add(rule.node, rule.covering);
    add(rule.node, rule.covered);
  }
  for (const SlotRule& rule : rules_.slots) add(rule.node, rule.row);
  absl::c_sort(origins, [](const auto& a, const auto& b) { return b < a; });
  origins.erase(std::unique(origins.begin(), origins.end()), origins.end());
  std::string text;
  for (size_t k = 0; k < std::min(origins.size(), kMaxOrigins); ++k) {
    const auto& [from, tensor] = origins[k];
    absl::StrAppend(&text, "\n  from ", Describe(graph_[from]), ": ",
                    PlaceText(from, tensor));
  }
  if (origins.size() <= kMaxOrigins) return text;
  return absl::StrCat(text, "\n  and ", origins.size() - kMaxOrigins, " more");
}

absl::Status ErrorText::Error(TensorId node, const std::string& contradiction,
                              absl::Span<const TensorId> tensors,
                              absl::Span<const RowRef> rows,
                              const std::string& hint) const {
  std::string message = absl::StrCat("shape error in ", Describe(graph_[node]),
                                     ": ", contradiction);
  std::vector<TensorId> shown(tensors.begin(), tensors.end());
  // Of what a call makes, its user knows the arguments.
  if (const auto& call = graph_[node].call; call != nullptr) {
    absl::c_copy(call->args, std::back_inserter(shown));
  }
  std::vector<TensorId> written;
  for (TensorId id : shown) {
    if (absl::c_linear_search(written, id)) continue;
    written.push_back(id);
    absl::StrAppend(&message, "\n  ", Label(graph_[id]), " : ", ShapeText(id));
  }
  absl::StrAppend(&message, Origins(node, rows));
  if (!hint.empty()) absl::StrAppend(&message, "\n  hint: ", hint);
  const EinsumSpec* spec = SpecOf(graph_[node].source);
  if (spec != nullptr) message += LongNameHint(*spec);
  return absl::InvalidArgumentError(message);
}

}  // namespace ocannl
