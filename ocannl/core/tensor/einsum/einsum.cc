// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/einsum/einsum.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/lexer.h"
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

// How the spec is written here, if it is NumPy's: operands with commas between
// them and the result, if any, behind `->`; without one, that has the names
// that occur once, by the alphabet.
std::string NumPyHint(absl::string_view text) {
  const std::string plain =
      absl::StrReplaceAll(text, {{" ", ""}, {"=>", "->"}});
  const std::vector<std::string> sides = absl::StrSplit(plain, "->");
  auto is_of_numpy = [](char c) {
    return absl::ascii_isalpha(c) || c == '.' || c == ',';
  };
  if (sides.size() > 2 || !absl::c_all_of(sides[0], is_of_numpy) ||
      !absl::c_all_of(sides.back(), is_of_numpy) ||
      (sides.size() == 1 && !absl::StrContains(plain, ","))) {
    return "";
  }
  std::string result = absl::StrContains(sides[0], kEllipsis) ? "..." : "";
  for (char c = 'A'; c <= 'z'; ++c) {
    if (absl::c_count(sides[0], c) == 1) result += c;
  }
  if (sides.size() == 2) result = sides[1];
  const std::string here = absl::StrCat(
      absl::StrReplaceAll(sides[0], {{",", "; "}}), " => ", result);
  if (here == text) return "";
  return absl::StrCat("; NumPy's \"", text, "\" is \"", here, "\" here");
}

// Reads the axes of one row.
class RowParser {
 public:
  RowParser(absl::string_view text, RowKind kind, bool long_names,
            const EinsumNumbers& numbers)
      : rest_(absl::StripAsciiWhitespace(text)),
        kind_(kind),
        long_names_(long_names),
        numbers_(numbers) {}

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
    std::string name = TakeEinsumName(rest_, long_names_);
    if (name.empty()) return Unexpected();
    if (!absl::ConsumePrefix(&rest_, "..")) {
      return Error(absl::StrCat("the row variable `", name,
                                "` lacks its closing dots; write `..", name,
                                "..`"));
    }
    return name;
  }

  absl::StatusOr<EinsumAxis> Axis() {
    absl::string_view text = rest_.substr(0, rest_.find(','));
    if (!long_names_) {
      size_t digits = 0;
      while (digits < text.size() && absl::ascii_isdigit(text[digits])) {
        ++digits;
      }
      text = text.substr(0, std::max<size_t>(digits, 1));
    }
    rest_.remove_prefix(text.size());
    return ParseEinsumAxis(absl::StripTrailingAsciiWhitespace(text), numbers_);
  }

  absl::Status Unexpected() const {
    if (rest_.empty()) return Error("it ends too early");
    const size_t size = std::max<size_t>(1, CharacterSize(rest_));
    return Error(absl::StrCat("`", rest_.substr(0, size), "` is unexpected"));
  }

  absl::string_view rest_;
  RowKind kind_;
  bool long_names_;
  const EinsumNumbers& numbers_;
};

absl::StatusOr<EinsumSlot> ParseSlot(absl::string_view text, bool long_names,
                                     const EinsumNumbers& numbers) {
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
    OCANNL_ASSIGN_OR_RETURN(
        slot[i], RowParser(rows[i], kind, long_names, numbers).Parse());
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
      ForEachAxis(row, [&](EinsumAxis axis) {
        for (std::string* name : axis.Names()) axes.push_back(*name);
      });
      if (row.variable) variables.insert(*row.variable);
    }
  }
}

absl::StatusOr<EinsumSpec> Parse(absl::string_view text, int num_operands,
                                 const EinsumNumbers& numbers) {
  std::vector<absl::string_view> sides = absl::StrSplit(text, "=>");
  if (sides.size() != 2) {
    return Error(
        absl::StrCat("it needs one `=>` between the operands and the result",
                     NumPyHint(text)));
  }
  std::vector<absl::string_view> operands = absl::StrSplit(sides[0], ';');
  if (static_cast<int>(operands.size()) != num_operands) {
    return Error(absl::StrCat("it has ", operands.size(),
                              " operand(s) where the operation has ",
                              num_operands, NumPyHint(text)));
  }
  bool long_names = HasLongNames(text);
  EinsumSpec spec;
  for (absl::string_view operand : operands) {
    OCANNL_ASSIGN_OR_RETURN(EinsumSlot slot,
                            ParseSlot(operand, long_names, numbers));
    spec.operands.push_back(std::move(slot));
  }
  OCANNL_ASSIGN_OR_RETURN(spec.result,
                          ParseSlot(sides[1], long_names, numbers));
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

std::string RowText(const EinsumRow& row, absl::string_view separator) {
  std::vector<std::string> parts;
  auto add = [&](const std::vector<EinsumAxis>& axes) {
    for (const EinsumAxis& axis : axes) {
      parts.push_back(ToString(axis));
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

std::vector<std::string> NamesOf(const EinsumSlot& slot) {
  std::vector<std::string> names;
  for (const EinsumRow& row : slot) {
    ForEachAxis(row, [&](EinsumAxis axis) {
      for (const std::string* name : axis.Names()) {
        if (*name != "_") names.push_back(*name);
      }
    });
    const bool named =
        row.variable && !absl::StartsWith(*row.variable, kEllipsis);
    if (named) names.push_back(absl::StrCat("..", *row.variable, ".."));
  }
  return names;
}

absl::StatusOr<EinsumSpec> ParseEinsum(absl::string_view text, int num_operands,
                                       const EinsumNumbers& numbers) {
  absl::StatusOr<EinsumSpec> spec = Parse(text, num_operands, numbers);
  if (spec.ok()) return spec;
  return WithSpec(spec.status(), text);
}

std::string LongNameHint(const EinsumSpec& spec) {
  std::vector<std::string> axes;
  absl::flat_hash_set<std::string> variables;
  CollectNames(spec, axes, variables);
  const std::set<std::string> names(axes.begin(), axes.end());
  std::map<char, int> times;
  for (char c : absl::StrJoin(names, "")) ++times[c];
  std::string one;
  for (const std::string& name : names) {
    if (name.size() < 2) continue;
    if (absl::c_any_of(name, [&](char c) { return times[c] < 2; })) return "";
    one = name;
  }
  // Windows are of names such as oh and kh.
  const bool computes =
      ToString(spec).find_first_of("*+^<") != std::string::npos;
  if (computes || one.empty()) return "";
  return absl::StrCat("\n  hint: as the spec has commas, `", one,
                      "` is one axis; put commas between all axes");
}

absl::Status WithSpec(const absl::Status& status, absl::string_view text) {
  std::string message =
      absl::StrCat("the spec \"", text, "\" is wrong: ", status.message(),
                   LookalikeHint(text));
  if (HasLongNames(text) && absl::EndsWith(message, "is unexpected")) {
    message += "; as names may be long here, put commas between all axes";
  }
  return absl::Status(status.code(), message);
}

std::string ToString(const EinsumSpec& spec) {
  auto text = [&](absl::string_view separator) {
    std::vector<std::string> operands;
    for (const EinsumSlot& operand : spec.operands) {
      operands.push_back(SlotText(operand, separator));
    }
    return absl::StrCat(absl::StrJoin(operands, "; "), " => ",
                        SlotText(spec.result, separator));
  };
  std::string as_letters = text("");
  const int count = static_cast<int>(spec.operands.size());
  const absl::StatusOr<EinsumSpec> read = Parse(as_letters, count, {});
  if (read.ok() && *read == spec) return as_letters;
  // A comma allows long names where nothing else does.
  std::string with_commas = text(", ");
  if (!HasLongNames(with_commas)) with_commas += ",";
  return with_commas;
}

}  // namespace ocannl
