// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/habits.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ocannl/core/base/lexer.h"

namespace ocannl {
namespace {

// Longer parts of the text are "..." in messages.
constexpr size_t kMaxQuoted = 40;

struct Habit {
  absl::string_view written;  // words with blanks between
  absl::string_view here;
};

constexpr Habit kHabits[] = {
#define HABIT(written, here) {written, here},
#include "ocannl/core/notation/habits.def"
#undef HABIT
};

bool IsWord(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.'; }

// The word that `text` ends with, or starts with.
absl::string_view LastWord(absl::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && IsWord(text[begin - 1])) --begin;
  return text.substr(begin);
}
absl::string_view FirstWord(absl::string_view text) {
  return text.substr(
      0, std::find_if_not(text.begin(), text.end(), IsWord) - text.begin());
}

bool EndsWithAnyOf(absl::string_view text, absl::string_view ends) {
  return !text.empty() && absl::StrContains(ends, text.substr(text.size() - 1));
}

// For the index in brackets that `rest` starts with.
std::string IndexHint(absl::string_view rest) {
  const absl::string_view index = rest.substr(1, rest.find(']') - 1);
  const absl::string_view first = absl::StripLeadingAsciiWhitespace(index);
  if (absl::StrContains(index, ":")) return HabitHint("x[1:2]");
  if (absl::StartsWith(first, "-")) return HabitHint("x[-1]");
  if (absl::StrContains(index, "None")) return HabitHint("x[None]");
  if (index.find_first_of("<>=!") != index.npos) return HabitHint("x[x>0]");
  const bool is_name = !first.empty() && absl::ascii_isalpha(first[0]);
  return HabitHint(is_name ? "x[i]" : "x[0]");
}

// For a number with the letters `word` right behind it.
std::string SuffixHint(absl::string_view word) {
  if (word == "j" || word == "J") return HabitHint("1j");
  const bool is_type =
      word.find_first_not_of("fFlLuU") == word.npos && word.size() <= 3;
  return HabitHint(is_type ? "1f" : "2x");
}

// For the dot that `rest` starts with.
std::string DotHint(absl::string_view before, absl::string_view rest) {
  const absl::string_view next = rest.substr(1, 1);
  if (!next.empty() && absl::ascii_isdigit(next[0])) return HabitHint(".5");
  if (EndsWithAnyOf(next, "*/^")) return HabitHint(".*");
  if (EndsWithAnyOf(next, "([")) return HabitHint("x[0]");
  if (EndsWithAnyOf(before, "+-")) return HabitHint("+.");
  return NameHabitHint(FirstWord(rest), /*is_call=*/false);
}

// Which habit it is that goes on with `rest` where `text` ends.
std::string HintBetween(absl::string_view text, absl::string_view rest) {
  const absl::string_view before = absl::StripTrailingAsciiWhitespace(text);
  if (rest.empty()) return "";
  const absl::string_view last = LastWord(before);
  const bool after_number = !last.empty() && absl::ascii_isdigit(last[0]);
  const bool goes_on = before.size() == text.size();
  const absl::string_view word = FirstWord(rest);
  if (rest[0] == '.') return DotHint(before, rest);
  if (rest[0] == '[') return IndexHint(rest);
  if (!word.empty() && after_number && goes_on) return SuffixHint(word);
  if (!word.empty()) {
    const std::string hint = NameHabitHint(word, /*is_call=*/true);
    return hint.empty() ? HabitHint("xy") : hint;
  }
  switch (rest[0]) {
    case '(':
      return HabitHint(after_number ? "2x" : "xy");
    case '/':
      return EndsWithAnyOf(before, "/") ? HabitHint("//") : "";
    case '>':
      return EndsWithAnyOf(before, "|") ? HabitHint("|>") : "";
    case '=':
      return EndsWithAnyOf(before, "+-*/") ? HabitHint(":=") : "";
    case ':':
      return HabitHint(rest.substr(0, 2));
    default:
      return HabitHint(rest.substr(0, 1));
  }
}

// For a spec that `rest` starts with, without quotes, or in those of others.
std::string QuotesHint(absl::string_view rest) {
  const size_t first = CharacterSize(rest);
  if (first > 1 || absl::StartsWith(rest, "'")) rest.remove_prefix(first);
  const size_t arrow = rest.find("=>");
  if (arrow >= rest.find_first_of("\"\n")) return "";
  // The result goes on where a comma, a bar or an arrow wants more.
  size_t end = arrow + 2;
  auto take = [&](auto belongs) {
    while (end < rest.size() && belongs(rest[end])) ++end;
  };
  auto is_blank = [](char c) { return c == ' '; };
  auto is_spec = [](char c) {
    return IsWord(c) || absl::StrContains(",|->+*^<", c);
  };
  take(is_blank);
  take(is_spec);
  while (absl::StrContains(",|>", rest.substr(end - 1, 1)) &&
         end < rest.size() && is_blank(rest[end])) {
    take(is_blank);
    take(is_spec);
  }
  return absl::StrCat("; write \"",
                      absl::StripTrailingAsciiWhitespace(rest.substr(0, end)),
                      "\"");
}

}  // namespace

std::string HabitHint(absl::string_view written) {
  for (const Habit& habit : kHabits) {
    for (absl::string_view word : absl::StrSplit(habit.written, ' ')) {
      if (word == written) return absl::StrCat("; ", habit.here);
    }
  }
  return "";
}

std::vector<absl::string_view> HabitTexts() {
  std::vector<absl::string_view> texts;
  for (const Habit& habit : kHabits) texts.push_back(habit.here);
  return texts;
}

std::string NameHabitHint(absl::string_view name, bool is_call) {
  const size_t dot = name.rfind('.');
  const bool is_attribute = dot != absl::string_view::npos;
  const absl::string_view last = is_attribute ? name.substr(dot + 1) : name;
  std::string hint;
  if (is_call || is_attribute) hint = HabitHint(absl::StrCat(last, "("));
  if (!hint.empty()) return hint;
  return HabitHint(is_attribute ? name.substr(dot) : name);
}

absl::Status SignOfPower(const Lexer& lexer, size_t sign,
                         absl::string_view symbol, size_t power) {
  const absl::string_view text = lexer.text().substr(0, lexer.peek().offset);
  absl::string_view base = text.substr(sign + 1, power - sign - 1);
  absl::string_view exponent = text.substr(power + symbol.size());
  for (absl::string_view* part : {&base, &exponent}) {
    *part = absl::StripAsciiWhitespace(*part);
    if (part->size() > kMaxQuoted) *part = "...";
  }
  return lexer.ErrorAt(sign, "a sign in front of `", symbol,
                       "` can be read in two ways; write (-", base, ") ",
                       symbol, " ", exponent, " or -(", base, " ", symbol, " ",
                       exponent, ")");
}

absl::Status Unexpected(const Lexer& lexer, absl::string_view what) {
  const size_t at = lexer.peek().offset;
  const absl::string_view rest = lexer.text().substr(at);
  // In brackets, a `;` is a slip.
  const bool ends = absl::StrContains(what, "end of the text") ||
                    absl::EndsWith(what, "`in`");
  std::string hint;
  if (ends || !absl::StartsWith(rest, ";")) {
    hint = HintBetween(lexer.text().substr(0, at), rest);
  }
  return lexer.Error("expected ", what, ", found ", lexer.Found(), hint);
}

absl::Status NoSpec(const Lexer& lexer, absl::string_view symbol,
                    absl::string_view example) {
  return lexer.Error("expected the spec of `", symbol,
                     "` in quotes, such as \"", example, "\", found ",
                     lexer.Found(),
                     QuotesHint(lexer.text().substr(lexer.peek().offset)));
}

std::string SignHint(const Lexer& lexer) {
  const Token& next = lexer.peek();
  if (next.kind != Token::kSymbol || next.text != "-") return "";
  return "; an argument with a sign is written ~-x or (-x)";
}

}  // namespace ocannl
