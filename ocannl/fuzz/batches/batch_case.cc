// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/batches/batch_case.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"

namespace ocannl::fuzz {
namespace {

constexpr absl::string_view kProperties[] = {"rows", "terms"};
constexpr absl::string_view kFills[] = {"normal", "subnormal", "zeros", "wide",
                                        "nonfinite"};
constexpr absl::string_view kPaddings[] = {"any", "zero", "mask"};

constexpr int64_t kMostRows = 1 << 20;

template <class Enum, size_t n>
bool FindName(const absl::string_view (&names)[n], absl::string_view name,
              Enum& found) {
  const auto* at = std::find(std::begin(names), std::end(names), name);
  if (at == std::end(names)) return false;
  found = static_cast<Enum>(at - std::begin(names));
  return true;
}

template <class Enum, size_t n>
absl::string_view NameIn(const absl::string_view (&names)[n], Enum value) {
  return names[static_cast<size_t>(value)];
}

bool ReadRow(absl::string_view text, int64_t& row) {
  return absl::SimpleAtoi(text, &row) && row >= 0 && row < kMostRows;
}

bool ReadBatch(absl::string_view text, Batch& batch) {
  batch.alone = absl::ConsumePrefix(&text, "alone ");
  for (absl::string_view part : absl::StrSplit(text, ", ")) {
    const std::vector<absl::string_view> ends = absl::StrSplit(part, "..");
    int64_t first = 0;
    int64_t last = 0;
    if (ends.size() > 2 || !ReadRow(ends.front(), first)) return false;
    if (!ReadRow(ends.back(), last) || last < first) return false;
    for (; first <= last; ++first) batch.rows.push_back(first);
  }
  return !batch.alone || batch.rows.size() == 1;
}

bool ReadSizes(absl::string_view text, std::map<std::string, int64_t>& sizes) {
  for (absl::string_view part : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> size =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    int64_t cells = 0;
    if (!ReadRow(size.second, cells) || cells == 0) return false;
    sizes[size.first] = cells;
  }
  return true;
}

bool ReadFill(absl::string_view text, BatchCase& one) {
  const std::pair<std::string, std::string> fill =
      absl::StrSplit(text, absl::MaxSplits(' ', 1));
  return FindName(kFills, fill.first, one.fill) &&
         absl::SimpleAtoi(fill.second, &one.seed);
}

bool ReadOperand(absl::string_view name, absl::string_view text,
                 BatchCase& one) {
  const size_t at = text.rfind(' ');
  if (at == text.npos || name.empty()) return false;
  BatchOperand operand = {.name = std::string(name),
                          .shape = std::string(text.substr(0, at))};
  if (!FindName(kPaddings, text.substr(at + 1), operand.padding)) return false;
  one.operands.push_back(std::move(operand));
  return true;
}

bool ReadLine(absl::string_view line, BatchCase& one) {
  if (absl::ConsumePrefix(&line, "let ")) {
    const std::vector<std::string> let =
        absl::StrSplit(line, absl::MaxSplits(" = ", 1));
    if (let.size() < 2) return false;
    one.lets.push_back({let[0], let[1]});
    return true;
  }
  const std::vector<absl::string_view> parts =
      absl::StrSplit(line, absl::MaxSplits(": ", 1));
  if (parts.size() < 2) return false;
  if (parts[0] == "property") {
    return FindName(kProperties, parts[1], one.property);
  }
  if (parts[0] == "fill") return ReadFill(parts[1], one);
  if (parts[0] == "sizes") return ReadSizes(parts[1], one.sizes);
  if (parts[0] != "batch") return ReadOperand(parts[0], parts[1], one);
  one.batches.emplace_back();
  return ReadBatch(parts[1], one.batches.back());
}

}  // namespace

std::string ToString(const Batch& batch) {
  std::vector<std::string> parts;
  for (size_t k = 0; k < batch.rows.size();) {
    size_t end = k + 1;
    while (end < batch.rows.size() &&
           batch.rows[end] == batch.rows[end - 1] + 1) {
      ++end;
    }
    parts.push_back(absl::StrCat(batch.rows[k]));
    if (end - k > 1) absl::StrAppend(&parts.back(), "..", batch.rows[end - 1]);
    k = end;
  }
  return absl::StrCat(batch.alone ? "alone " : "", absl::StrJoin(parts, ", "));
}

std::string ToString(const BatchCase& one) {
  std::string text = absl::StrCat(
      "property: ", NameIn(kProperties, one.property),
      "\nfill: ", NameIn(kFills, one.fill), " ", one.seed,
      "\nsizes: ", absl::StrJoin(one.sizes, " ", absl::PairFormatter("=")),
      "\n");
  for (const BatchOperand& operand : one.operands) {
    absl::StrAppend(&text, operand.name, ": ", operand.shape, " ",
                    NameIn(kPaddings, operand.padding), "\n");
  }
  for (const BatchLet& let : one.lets) {
    absl::StrAppend(&text, "let ", let.name, " = ", let.text, "\n");
  }
  for (const Batch& batch : one.batches) {
    absl::StrAppend(&text, "batch: ", ToString(batch), "\n");
  }
  return text;
}

absl::StatusOr<BatchCase> ParseBatchCase(absl::string_view text) {
  BatchCase one;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty() || absl::StartsWith(line, "# ")) continue;
    if (!ReadLine(line, one)) {
      return UserError("line ", number, ": `", line,
                       "` is no line of a case; fuzz --batches prints such");
    }
  }
  if (one.lets.empty()) return UserError("the case has no line `let v0 = ...`");
  if (one.batches.size() < 2) {
    return UserError("the case has fewer than two lines `batch: ...`");
  }
  return one;
}

std::string WithRows(absl::string_view text, absl::string_view rows) {
  if (!rows.empty()) return absl::StrReplaceAll(text, {{"#", rows}});
  return absl::StrReplaceAll(text,
                             {{"#, ", ""}, {"#|", ""}, {", #", ""}, {"#", ""}});
}

std::string ExpressionOf(const BatchCase& one, bool alone) {
  std::string text;
  for (const BatchLet& let : one.lets) {
    absl::StrAppend(&text, "let ", let.name, " = ",
                    WithRows(let.text, alone ? "" : "r"), " in\n");
  }
  return absl::StrCat(text, one.lets.back().name);
}

}  // namespace ocannl::fuzz
