// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/loop_lexer.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/words.h"
#include "ocannl/core/ops/depth.h"

namespace ocannl {
namespace {

// Sizes, bounds and factors: a sum of products of two fits 128 bits.
constexpr int64_t kMaxInteger = int64_t{1} << 40;

std::vector<absl::string_view> WithSymbols(
    std::vector<absl::string_view> symbols) {
  symbols.insert(symbols.end(),
                 {":=", "==", "!=",  "<>",  "<=", ">=", "<<", ">>", "&&", "||",
                  "@^", "@-", "-?/", "-?^", "*.", "/.", "..", "|",  "^",  "&",
                  "<",  ">",  "+",   "-",   "*",  "/",  "%",  "(",  ")",  "[",
                  "]",  "{",  "}",   ":",   ";",  ",",  "="});
  absl::c_stable_sort(symbols, [](absl::string_view a, absl::string_view b) {
    return a.size() > b.size();
  });
  return symbols;
}

constexpr absl::string_view kLoop =
    "a loop of 3 runs is written for i0 = 0 to 2 { ... }";

// Words, with blanks between, and how it is written here.
struct LoopHabit {
  absl::string_view words;
  absl::string_view here;
};

// By the word at the error.
constexpr LoopHabit kWords[] = {
    {"if else switch case while do",
     "there are no branches; a value is chosen by select(a < b, x, y)"},
    {"int float double auto const long unsigned",
     "a local is written let t : f32 := value;"},
    {"parallel parfor pragma omp prange",
     "a parallel loop is written par i0 = 0 to 2 { ... }"},
    {"vectorize vectorized simd", "lanes are written vec i0 = 0 to 7 { ... }"},
    {"return print assert def void func function import include",
     "a program is a name, its buffers and statements: p (): in x : f32[3]; "
     "out y : f32[3]; ..."},
    {"f", "a number has no suffix; its dtype stands after a colon: 1:f64"},
};

// By how the text goes on there; `after` is what it has just before.
struct HabitSymbols {
  absl::string_view after;
  absl::string_view at;
  absl::string_view here;
};

constexpr HabitSymbols kSymbols[] = {
    {"", "+=", "write y[i0] := y[i0] + x; in .cd, y =+ x"},
    {"", "-=", "write y[i0] := y[i0] - x; in .cd, y =- x"},
    {"", "*=", "write y[i0] := y[i0] * x; in .cd, y =* x"},
    {"*", "*", "a power is pow(x, 2)"},
    {"/", "/", "a comment is # to the end of the line, or /* ... */"},
    {"", "//", "a comment is # to the end of the line, or /* ... */"},
    {"]", "[", "all indices stand in one bracket: x[i0, i1]"},
    {"", "?", "a value is chosen by select(a < b, x, y)"},
    {"", "@",
     "a product of matrices is n =:+ w * x ~logic:\"i, j; j => i\" in .cd"},
    {"", "->", "the result of a spec stands after =>"},
};

bool IsWord(char c) { return absl::ascii_isalnum(c) || c == '_'; }

bool EndsWithAnyOf(absl::string_view text, absl::string_view ends) {
  return !text.empty() && absl::StrContains(ends, text.substr(text.size() - 1));
}

// Whether the text ends inside of an index: after a `[` that is not closed.
bool IsInIndex(absl::string_view text) {
  const size_t open = text.rfind('[');
  return open != text.npos && text.find(']', open) == text.npos &&
         text.find(':', open) == text.npos;
}

std::string HintAt(absl::string_view text, size_t offset,
                   absl::string_view message) {
  const absl::string_view before =
      absl::StripTrailingAsciiWhitespace(text.substr(0, offset));
  const absl::string_view rest = text.substr(offset);
  const auto end = std::find_if_not(rest.begin(), rest.end(), IsWord);
  const absl::string_view word = rest.substr(0, end - rest.begin());
  if (absl::StrContains(message, "the program's name")) {
    return "a program begins with its name: p (): in x : f32[3]; ...";
  }
  if (absl::StrContains(message, "iterator, found") ||
      absl::StrContains(message, "is not an iterator")) {
    return std::string(kLoop);
  }
  if (absl::StrContains(message, "expected the last value")) {
    return "the bounds of a loop are numbers, not static indices";
  }
  if (absl::StrContains(message, "expected `[`")) {
    return "sizes stand in brackets: f32[2, 3], and f32[] of a number";
  }
  const bool is_operator =
      !rest.empty() && absl::StrContains("*/%", rest.substr(0, 1));
  if (is_operator && IsInIndex(before)) {
    return "an index is a sum of iterators times numbers: 2*i0 + i1 - 3";
  }
  for (const LoopHabit& habit : kWords) {
    for (absl::string_view known : absl::StrSplit(habit.words, ' ')) {
      if (word == known) return std::string(habit.here);
    }
  }
  for (const HabitSymbols& known : kSymbols) {
    if (absl::EndsWith(before, known.after) &&
        absl::StartsWith(rest, known.at)) {
      return std::string(known.here);
    }
  }
  if (EndsWithAnyOf(before, "*/+-") && absl::StartsWith(rest, ".")) {
    return "operators have no dots here: x * y";
  }
  return "";
}

}  // namespace

LoopLexer::LoopLexer(absl::string_view text,
                     std::vector<absl::string_view> more)
    : Lexer(text, WithSymbols(std::move(more))) {}

bool LoopLexer::AtName() const {
  return peek().kind == Token::kName || peek().kind == Token::kString;
}

absl::StatusOr<Token> LoopLexer::TakeName(absl::string_view what) {
  if (!AtName()) return ExpectedError(what);
  const Token name = Next();
  if (name.kind == Token::kString || !IsReserved(name.text)) return name;
  return ErrorAt(name, "expected ", what, ", found the word `", name.text,
                 "`; a name is written \"", name.text, "\"");
}

absl::StatusOr<int64_t> LoopLexer::TakeInteger(absl::string_view what) {
  int64_t value;
  if (peek().kind != Token::kNumber || !absl::SimpleAtoi(peek().text, &value) ||
      value > kMaxInteger) {
    return ExpectedError(absl::StrCat(what, ", an integer up to 2^40"));
  }
  Next();
  return value;
}

absl::StatusOr<DType> LoopLexer::TakeDType() {
  OCANNL_ASSIGN_OR_RETURN(const Token name, Take(Token::kName, "a dtype"));
  if (std::optional<DType> dtype = FindDType(name.text)) return *dtype;
  return ErrorAt(name, "`", name.text, "` is not a dtype; write ",
                 DTypeNames());
}

absl::StatusOr<Dims> LoopLexer::TakeDims() {
  Dims dims;
  OCANNL_RETURN_IF_ERROR(Expect("["));
  while (!Accept("]")) {
    if (!dims.empty()) OCANNL_RETURN_IF_ERROR(Expect(","));
    if (dims.size() == kMaxLoopDepth) {
      return Error("a buffer has at most ", kMaxLoopDepth,
                   " axes; make one axis of several");
    }
    OCANNL_ASSIGN_OR_RETURN(dims.emplace_back(), TakeInteger("an axis size"));
  }
  return dims;
}

absl::StatusOr<Affine> LoopLexer::TakeIndex(
    absl::FunctionRef<absl::StatusOr<Symbol>()> symbol) {
  Affine sum;
  int64_t sign = Accept("-") ? -1 : 1;
  while (true) {
    int64_t factor = 1;
    const bool has_number = peek().kind == Token::kNumber;
    if (has_number) {
      OCANNL_ASSIGN_OR_RETURN(factor, TakeInteger("an index"));
    }
    Affine term = 1;
    if (!has_number || Accept("*")) {
      OCANNL_ASSIGN_OR_RETURN(const Symbol variable, symbol());
      term = variable;
    }
    sum += sign * factor * term;
    if (Accept("+")) {
      sign = 1;
    } else if (Accept("-")) {
      sign = -1;
    } else {
      return sum;
    }
  }
}

absl::Status LoopLexer::TakeHeader(
    std::string& name,
    absl::FunctionRef<void(std::string name, std::optional<int64_t> range)>
        declare) {
  OCANNL_ASSIGN_OR_RETURN(const Token program, TakeName("the program's name"));
  name = std::string(program.text);
  OCANNL_RETURN_IF_ERROR(Expect("("));
  for (bool is_first = true; !Accept(")"); is_first = false) {
    if (!is_first) OCANNL_RETURN_IF_ERROR(Expect(","));
    OCANNL_ASSIGN_OR_RETURN(const Token index, TakeName("a static index"));
    std::optional<int64_t> range;
    if (Accept(":")) {
      OCANNL_RETURN_IF_ERROR(Expect("["));
      const size_t offset = peek().offset;
      OCANNL_ASSIGN_OR_RETURN(int64_t least, TakeInteger("the least value"));
      if (least != 0) {
        return ErrorAt(offset, "a static index starts at 0; write [0..n]");
      }
      OCANNL_RETURN_IF_ERROR(Expect(".."));
      OCANNL_ASSIGN_OR_RETURN(int64_t last, TakeInteger("the last value"));
      range = last + 1;
      OCANNL_RETURN_IF_ERROR(Expect("]"));
    }
    declare(std::string(index.text), range);
  }
  return Expect(":");
}

absl::Status WithLoopHabit(const absl::Status& status, absl::string_view text) {
  const std::string message(status.message());
  size_t line;
  size_t column;
  if (status.ok() ||
      std::sscanf(message.c_str(), "line %zu, column %zu:", &line, &column) !=
          2) {
    return status;
  }
  size_t offset = column - 1;
  for (size_t k = 1, begin = 0; k < line; ++k) {
    begin = text.find('\n', begin) + 1;  // 0 after the last line
    offset = begin + column - 1;
  }
  if (offset > text.size()) return status;
  const std::string hint = HintAt(text, offset, message);
  if (hint.empty()) return status;
  return absl::Status(status.code(), absl::StrCat(message, "; ", hint));
}

}  // namespace ocannl
