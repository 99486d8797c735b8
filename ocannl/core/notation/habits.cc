// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/habits.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ocannl {
namespace {

// Longer parts of the text are "..." in messages.
constexpr size_t kMaxQuoted = 40;

// A function has its bracket behind it, an attribute its dot in front.
struct Habit {
  absl::string_view written;
  absl::string_view here;
};

constexpr absl::string_view kProduct =
    "a product of tensors is written w * x, one along axes that you name "
    "a +* \"ij; jk => ik\" b";
constexpr absl::string_view kTranspose =
    "a transpose is written x ++ \"ij => ji\", that of a matrix of shape 3->2 "
    "w ++ \"i->o => o->i\"";
constexpr absl::string_view kConcatenation =
    "a concatenation is written x ++^ \"a; b => a^b\" y";
constexpr absl::string_view kWrapped =
    "an array of the host is Data(graph, name, values, spec) in C++ and "
    "--in=x=FILE.npy for the tool; it needs no room for padding: windows that "
    "leave an axis, \"h+k; k => h\", skip what is outside";
constexpr absl::string_view kFilled =
    "a number is as large as its uses want: write 0, or 1";
// The source documents' dtype of four words is none but in declarations: no
// other operation is for it.
constexpr absl::string_view kWords =
    "random words are u32, four of them a block, along a last axis that "
    "{w: uint4x32} declares; word 0 to 3 of a block is threefry_crypto(a, b, "
    "c, d, counter, word) of a key a, b, c, d; numbers from them are "
    "uniform_at(counter) and uniform1_at(counter)";

constexpr Habit kHabits[] = {
    {"@", kProduct},
    {"matmul(", kProduct},
    {"dot(", kProduct},
    {"^", "a power is written x **. 2; `^` is of bits"},
    {"x[0]",
     "cells are read by a spec: x ++ \"0, ... => ...\" is x[0]; x @| i reads "
     "the first batch axis at a static index"},
    {"2x", "a product of elements is written 2 *. x"},
    {".T", kTranspose},
    {"transpose(", kTranspose},
    {"sum(",
     "a sum is written x ++ \"ij => i\", that of all cells "
     "x ++ \"...|...->... => 0\""},
    {"mean(",
     "a mean is written (x ++ \"...|...->... => 0\") /. dim(x), in C++ "
     "train::Mean(spec, x)"},
    {"max(",
     "the greatest is written x @^^ \"ij => i\", that of all cells "
     "x @^^ \"...|...->... => 0\""},
    {"min(",
     "the least is written x @-- \"ij => i\", that of all cells "
     "x @-- \"...|...->... => 0\""},
    {"softmax(",
     "of e = exp(x - (x @^^ \"...|v => ...|0\")) it is written "
     "e /. (e ++ \"...|v => ...|0\"), in C++ "
     "train::Softmax(\"...|v => ...|0\", x)"},
    {"log_softmax(", "in C++ it is train::LogSoftmax(\"...|v => ...|0\", x)"},
    {"cross_entropy(", "in C++ it is train::CrossEntropy(logits, targets, {})"},
    {"layer_norm(", "in C++ it is train::LayerNorm(scope)(x)"},
    {"dropout(", "in C++ it is train::Dropout(x, rate, training)"},
    {"conv2d(",
     "windows are in specs: x +* \"...|h+k, w+l, c; k, l, c->o => ...|h, w, "
     "o\" kernel; in C++ it is train::Conv2d"},
    {"einsum(",
     "a sum of products is written a +* \"ij; jk => ik\" b, that of one tensor "
     "x ++ \"ij => i\""},
    {"concat(", kConcatenation},
    {"concatenate(", kConcatenation},
    {"arange(", "whole numbers from 0 are written range(3)"},
    {"wrap(", kWrapped},
    {"wrap_padded(", kWrapped},
    {"rebatch(", kWrapped},
    {"byte(", "it is u8(x)"},
    {"half(", "it is f16(x)"},
    {"bfloat16(", "it is bf16(x)"},
    {"fp8(", "it is f8e5m2(x)"},
    {"single(", "it is f32(x)"},
    {"double(", "it is f64(x)"},
    {"uint4x32(", kWords},
    {"threefry4x32(", kWords},
    {"uint4x32_to_prec_uniform(", kWords},
    {"uint4x32_to_prec_uniform1(", kWords},
    {"zeros(", kFilled},
    {"ones(", kFilled},
    {".shape",
     "the number of cells is dim(x), the size of one axis a name of a spec: "
     "(x ++ \"i => 0\" [\"i\" : n]) /. n"},
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

// Which habit it is that goes on with `rest` where `before` ends.
std::string HintBetween(absl::string_view before, absl::string_view rest) {
  before = absl::StripTrailingAsciiWhitespace(before);
  if (rest.empty() || before.empty()) return "";
  const absl::string_view last = LastWord(before);
  const bool after_number = !last.empty() && absl::ascii_isdigit(last[0]);
  switch (rest[0]) {
    case '*':
      return absl::EndsWith(before, "*") ? HabitHint("**") : "";
    case '.':
      return NameHabitHint(FirstWord(rest), /*is_call=*/false);
    case '[':
      return HabitHint("x[0]");
    case '(':
      return after_number ? HabitHint("2x") : "";
    default:
      if (after_number && absl::ascii_isalpha(rest[0])) return HabitHint("2x");
      return HabitHint(rest.substr(0, 1));
  }
}

// For a spec that `rest` starts with, without quotes.
std::string QuotesHint(absl::string_view rest) {
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
    if (habit.written == written) return absl::StrCat("; ", habit.here);
  }
  return "";
}

std::string NameHabitHint(absl::string_view name, bool is_call) {
  const size_t dot = name.rfind('.');
  const bool is_attribute = dot != absl::string_view::npos;
  const absl::string_view last = is_attribute ? name.substr(dot + 1) : name;
  std::string hint;
  if (is_call || is_attribute) hint = HabitHint(absl::StrCat(last, "("));
  if (is_attribute && hint.empty()) hint = HabitHint(name.substr(dot));
  return hint;
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
  return lexer.ErrorAt(
      sign, absl::StrCat("a sign in front of `", symbol,
                         "` can be read in two ways; write (-", base, ") ",
                         symbol, " ", exponent, " or -(", base, " ", symbol,
                         " ", exponent, ")"));
}

absl::Status Unexpected(const Lexer& lexer, absl::string_view what) {
  const size_t at = lexer.peek().offset;
  return lexer.Error(absl::StrCat(
      "expected ", what, ", found ", lexer.Found(),
      HintBetween(lexer.text().substr(0, at), lexer.text().substr(at))));
}

absl::Status NoSpec(const Lexer& lexer, absl::string_view symbol,
                    absl::string_view example) {
  return lexer.Error(
      absl::StrCat("expected the spec of `", symbol, "` in quotes, such as \"",
                   example, "\", found ", lexer.Found(),
                   QuotesHint(lexer.text().substr(lexer.peek().offset))));
}

}  // namespace ocannl
