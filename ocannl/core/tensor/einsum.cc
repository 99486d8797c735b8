// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/einsum.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

constexpr absl::string_view kEllipsis = "...";

absl::Status Error(absl::string_view message) {
  return absl::InvalidArgumentError(message);
}

// Whether names may be longer than a letter.
bool HasLongNames(absl::string_view text) {
  if (text.find_first_of(",*+^&<") != absl::string_view::npos) return true;
  for (size_t at = text.find('='); at != absl::string_view::npos;
       at = text.find('=', at + 1)) {
    if (!absl::StartsWith(text.substr(at), "=>")) return true;
  }
  return false;
}

// Reads the axes of one row.
class RowParser {
 public:
  RowParser(absl::string_view text, RowKind kind, bool long_names)
      : rest_(absl::StripAsciiWhitespace(text)),
        kind_(kind),
        long_names_(long_names) {}

  absl::StatusOr<EinsumRow> Parse() {
    EinsumRow row;
    if (rest_ == ",") return row;
    while (!rest_.empty()) {
      if (absl::ConsumePrefix(&rest_, "..")) {
        if (row.variable) return Error("it has two row variables in one row");
        OCANNL_ASSIGN_OR_RETURN(row.variable, Variable());
      } else {
        OCANNL_ASSIGN_OR_RETURN(EinsumAxis axis, Axis());
        (row.variable ? row.end : row.begin).push_back(std::move(axis));
      }
      rest_ = absl::StripLeadingAsciiWhitespace(rest_);
      bool comma = absl::ConsumePrefix(&rest_, ",");
      rest_ = absl::StripLeadingAsciiWhitespace(rest_);
      if (long_names_ && !comma && !rest_.empty()) return Unexpected();
    }
    return row;
  }

 private:
  // What follows "..": "." or a name and "..".
  absl::StatusOr<std::string> Variable() {
    if (absl::ConsumePrefix(&rest_, ".")) {
      return absl::StrCat(kEllipsis, Name(kind_));
    }
    std::string name = Word();
    if (name.empty()) return Unexpected();
    if (!absl::ConsumePrefix(&rest_, "..")) {
      return Error(absl::StrCat("the row variable `", name,
                                "` lacks its closing dots; write `..", name,
                                "..`"));
    }
    return name;
  }

  absl::StatusOr<EinsumAxis> Axis() {
    absl::string_view whole = rest_.substr(0, rest_.find(','));
    whole = absl::StripTrailingAsciiWhitespace(whole);
    if (absl::StrContains(whole, "^")) {
      return absl::UnimplementedError(absl::StrCat(
          "its axis `", whole, "` concatenates; that is not supported"));
    }
    if (whole.find_first_of("*+<=&") != absl::string_view::npos) {
      return absl::UnimplementedError(
          absl::StrCat("its axis `", whole,
                       "` has a stride, an offset or a window; these are not "
                       "supported"));
    }
    if (absl::ascii_isdigit(rest_[0])) return Position();
    std::string name = Word();
    if (name.empty()) return Unexpected();
    return EinsumAxis{.name = std::move(name)};
  }

  absl::StatusOr<EinsumAxis> Position() {
    size_t size = 0;
    while (size < rest_.size() && absl::ascii_isdigit(rest_[size])) ++size;
    EinsumAxis axis;
    if (!absl::SimpleAtoi(rest_.substr(0, size), &axis.position)) {
      return Error(absl::StrCat("its position ", rest_.substr(0, size),
                                " is too large"));
    }
    rest_.remove_prefix(size);
    return axis;
  }

  // Takes a name, or "_"; empty if there is none.
  std::string Word() {
    size_t size = 0;
    auto belongs = [&](char c) {
      if (size == 0) return absl::ascii_isalpha(c) || c == '_';
      return long_names_ && rest_[0] != '_' &&
             (absl::ascii_isalnum(c) || c == '_');
    };
    while (size < rest_.size() && belongs(rest_[size])) ++size;
    std::string word(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return word;
  }

  absl::Status Unexpected() const {
    if (rest_.empty()) return Error("it ends too early");
    return Error(absl::StrCat("`", rest_.substr(0, 1), "` is unexpected"));
  }

  absl::string_view rest_;
  RowKind kind_;
  bool long_names_;
};

absl::StatusOr<EinsumSlot> ParseSlot(absl::string_view text, bool long_names) {
  std::array<absl::string_view, 3> rows;
  std::vector<absl::string_view> parts = absl::StrSplit(text, '|');
  if (parts.size() > 2) return Error("it has two `|` in one operand");
  if (parts.size() == 2) rows[static_cast<int>(RowKind::kBatch)] = parts[0];
  parts = absl::StrSplit(parts.back(), "->");
  if (parts.size() > 2) return Error("it has two `->` in one operand");
  if (parts.size() == 2) rows[static_cast<int>(RowKind::kInput)] = parts[0];
  rows[static_cast<int>(RowKind::kOutput)] = parts.back();
  EinsumSlot slot;
  for (RowKind kind : kRowKinds) {
    int i = static_cast<int>(kind);
    OCANNL_ASSIGN_OR_RETURN(slot[i],
                            RowParser(rows[i], kind, long_names).Parse());
  }
  return slot;
}

std::vector<const EinsumSlot*> SlotsOf(const EinsumSpec& spec) {
  std::vector<const EinsumSlot*> slots;
  for (const EinsumSlot& operand : spec.operands) slots.push_back(&operand);
  slots.push_back(&spec.result);
  return slots;
}

// The names of all axes, in order, and the row variables.
void CollectNames(const EinsumSpec& spec, std::vector<std::string>& axes,
                  absl::flat_hash_set<std::string>& variables) {
  for (const EinsumSlot* slot : SlotsOf(spec)) {
    for (const EinsumRow& row : *slot) {
      for (const auto* part : {&row.begin, &row.end}) {
        for (const EinsumAxis& axis : *part) {
          if (!axis.is_position()) axes.push_back(axis.name);
        }
      }
      if (row.variable) variables.insert(*row.variable);
    }
  }
}

absl::StatusOr<EinsumSpec> Parse(absl::string_view text, int num_operands) {
  std::vector<absl::string_view> sides = absl::StrSplit(text, "=>");
  if (sides.size() != 2) {
    return Error("it needs one `=>` between the operands and the result");
  }
  std::vector<absl::string_view> operands = absl::StrSplit(sides[0], ';');
  if (static_cast<int>(operands.size()) != num_operands) {
    return Error(absl::StrCat("it has ", operands.size(),
                              " operand(s) where the operation has ",
                              num_operands));
  }
  bool long_names = HasLongNames(text);
  EinsumSpec spec;
  for (absl::string_view operand : operands) {
    OCANNL_ASSIGN_OR_RETURN(EinsumSlot slot, ParseSlot(operand, long_names));
    spec.operands.push_back(std::move(slot));
  }
  OCANNL_ASSIGN_OR_RETURN(spec.result, ParseSlot(sides[1], long_names));
  std::vector<std::string> axes;
  absl::flat_hash_set<std::string> variables;
  CollectNames(spec, axes, variables);
  for (const std::string& axis : axes) {
    if (!variables.contains(axis)) continue;
    return Error(absl::StrCat("`", axis,
                              "` is both an axis and a row variable; rename "
                              "one of them"));
  }
  return spec;
}

// Whether every axis can be written as one letter or number without commas.
bool HasShortForm(const EinsumSpec& spec) {
  std::vector<std::string> axes;
  absl::flat_hash_set<std::string> names;
  CollectNames(spec, axes, names);
  names.insert(axes.begin(), axes.end());
  for (const std::string& name : names) {
    if (name.size() > 1 && !absl::StartsWith(name, kEllipsis)) return false;
  }
  for (const EinsumSlot* slot : SlotsOf(spec)) {
    for (const EinsumRow& row : *slot) {
      for (const auto* part : {&row.begin, &row.end}) {
        auto both = [](const EinsumAxis& a, const EinsumAxis& b) {
          return a.is_position() && b.is_position();
        };
        if (std::adjacent_find(part->begin(), part->end(), both) !=
            part->end()) {
          return false;
        }
      }
    }
  }
  return true;
}

std::string RowText(const EinsumRow& row, absl::string_view separator) {
  std::vector<std::string> parts;
  auto add = [&](const std::vector<EinsumAxis>& axes) {
    for (const EinsumAxis& axis : axes) {
      parts.push_back(axis.is_position() ? absl::StrCat(axis.position)
                                         : axis.name);
    }
  };
  add(row.begin);
  if (row.variable) {
    parts.push_back(absl::StartsWith(*row.variable, kEllipsis)
                        ? std::string(kEllipsis)
                        : absl::StrCat("..", *row.variable, ".."));
  }
  add(row.end);
  return absl::StrJoin(parts, separator);
}

std::string SlotText(const EinsumSlot& slot, absl::string_view separator) {
  auto text = [&](RowKind kind) {
    return RowText(slot[static_cast<int>(kind)], separator);
  };
  std::string batch = text(RowKind::kBatch);
  std::string input = text(RowKind::kInput);
  if (!batch.empty()) batch += "|";
  if (!input.empty()) input += "->";
  return absl::StrCat(batch, input, text(RowKind::kOutput));
}

}  // namespace

absl::StatusOr<EinsumSpec> ParseEinsum(absl::string_view text,
                                       int num_operands) {
  absl::StatusOr<EinsumSpec> spec = Parse(text, num_operands);
  if (spec.ok()) return spec;
  return absl::Status(spec.status().code(),
                      absl::StrCat("the spec \"", text,
                                   "\" is wrong: ", spec.status().message()));
}

std::string ToString(const EinsumSpec& spec) {
  absl::string_view separator = HasShortForm(spec) ? "" : ", ";
  std::vector<std::string> operands;
  for (const EinsumSlot& operand : spec.operands) {
    operands.push_back(SlotText(operand, separator));
  }
  std::string text = absl::StrCat(absl::StrJoin(operands, "; "), " => ",
                                  SlotText(spec.result, separator));
  // A comma is what allows long names.
  if (!separator.empty() && !absl::StrContains(text, ",")) text += ",";
  return text;
}

}  // namespace ocannl
