// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/ellipsis.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ocannl {
namespace {

constexpr absl::string_view kLetters = "nmpqrstuvwxyzabcdefghijklo";

// Whether the row has `...`; a row variable with a name means the same axes.
bool HasEllipsis(const EinsumRow& row) {
  return row.variable && absl::StartsWith(*row.variable, "...");
}

class Expander {
 public:
  Expander(const EinsumSpec& spec, absl::Span<const Shape> operands)
      : spec_(spec), operands_(operands) {
    for (const EinsumSlot& operand : spec.operands) Use(operand);
    Use(spec.result);
  }

  std::optional<EinsumSpec> Expand() {
    for (RowKind kind : kRowKinds) {
      if (!ExpandKind(kind)) return std::nullopt;
    }
    if (!differ_) return std::nullopt;
    return spec_;
  }

 private:
  void Use(const EinsumSlot& slot) {
    for (std::string& name : NamesOf(slot)) used_.insert(std::move(name));
  }

  // False if there are no letters left.
  bool NameAxes(size_t count, std::vector<std::string>& names) {
    for (char letter : kLetters) {
      const std::string name(1, letter);
      if (names.size() == count) break;
      if (used_.insert(name).second) names.push_back(name);
    }
    return names.size() == count;
  }

  // The axes of `...` in the row of an operand; false if it is too short.
  bool AxesOf(size_t operand, RowKind kind, Dims& axes) const {
    const EinsumRow& row = RowOf(spec_.operands[operand], kind);
    const Dims& dims = operands_[operand][kind];
    const size_t begin = row.begin.size(), end = row.end.size();
    if (dims.size() < begin + end) return false;
    axes.assign(dims.begin() + begin, dims.end() - end);
    return true;
  }

  static const EinsumRow& RowOf(const EinsumSlot& slot, RowKind kind) {
    return slot[static_cast<int>(kind)];
  }

  bool ExpandKind(RowKind kind) {
    Dims all;
    std::vector<Dims> each(operands_.size());
    for (size_t k = 0; k < each.size(); ++k) {
      if (!HasEllipsis(RowOf(spec_.operands[k], kind))) continue;
      if (!AxesOf(k, kind, each[k])) return false;
      if (each[k].size() > all.size()) {
        all.insert(all.begin(), each[k].size() - all.size(), 1);
      }
      for (size_t i = 1; i <= each[k].size(); ++i) {
        int64_t& size = all[all.size() - i];
        size = std::max(size, each[k][each[k].size() - i]);
      }
    }
    std::vector<std::string> names;
    if (!NameAxes(all.size(), names)) return false;
    for (size_t k = 0; k < each.size(); ++k) {
      EinsumRow& row = spec_.operands[k][static_cast<int>(kind)];
      if (!HasEllipsis(row)) continue;
      differ_ = differ_ || each[k].size() != all.size();
      const size_t skipped = all.size() - each[k].size();
      std::vector<EinsumAxis> axes;
      for (size_t i = 0; i < each[k].size(); ++i) {
        const int64_t size = each[k][i], whole = all[skipped + i];
        if (size == 1 && whole > 1) {
          axes.push_back({.name = "", .position = 0});
          differ_ = true;
        } else if (size == whole || size == 0) {
          axes.push_back({.name = names[skipped + i]});
        } else {
          return false;
        }
      }
      Replace(row, axes);
    }
    EinsumRow& result = spec_.result[static_cast<int>(kind)];
    std::vector<EinsumAxis> axes;
    for (std::string& name : names) axes.push_back({.name = std::move(name)});
    if (HasEllipsis(result)) Replace(result, axes);
    return true;
  }

  static void Replace(EinsumRow& row, const std::vector<EinsumAxis>& axes) {
    row.begin.insert(row.begin.end(), axes.begin(), axes.end());
    row.begin.insert(row.begin.end(), row.end.begin(), row.end.end());
    row.end.clear();
    row.variable.reset();
  }

  EinsumSpec spec_;
  absl::Span<const Shape> operands_;
  absl::flat_hash_set<std::string> used_;
  bool differ_ = false;
};

}  // namespace

std::string EllipsisHint(const EinsumSpec& spec,
                         absl::Span<const Shape> operands) {
  std::optional<EinsumSpec> wider = Expander(spec, operands).Expand();
  if (!wider) return "";
  bool joins = false;
  ForEachAxis(spec.result,
              [&](const EinsumAxis& axis) { joins |= !axis.parts.empty(); });
  if (joins) {
    return "parts that are joined have the same number of axes; give the "
           "smaller ones more";
  }
  return absl::StrCat("the axes of `...` do not broadcast; write \"",
                      ToString(*wider), "\"");
}

}  // namespace ocannl
