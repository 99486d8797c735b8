// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/lexer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ocannl {
namespace {

bool IsNameStart(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool IsNamePart(char c) { return IsNameStart(c) || absl::ascii_isdigit(c); }

// The end of the number that starts at `at`: digits, a fraction, an exponent;
// hexadecimal after 0x. A dot counts only before a digit or where no name or
// operator dot follows, so that `1.` and `2*.x` both read as expected.
size_t NumberEnd(absl::string_view text, size_t at) {
  auto digit = [&](size_t i) {
    return i < text.size() && absl::ascii_isdigit(text[i]);
  };
  if (absl::StartsWith(text.substr(at), "0x")) {
    at += 2;
    while (at < text.size() && absl::ascii_isxdigit(text[at])) ++at;
    return at;
  }
  while (digit(at)) ++at;
  bool range = absl::StartsWith(text.substr(at), "..");
  if (at < text.size() && text[at] == '.' && !range) ++at;
  while (digit(at)) ++at;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    size_t sign =
        at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+');
    if (digit(at + 1 + sign)) {
      at += 1 + sign;
      while (digit(at)) ++at;
    }
  }
  return at;
}

}  // namespace

Lexer::Lexer(absl::string_view text, std::vector<absl::string_view> symbols)
    : text_(text), symbols_(std::move(symbols)), token_(Scan()) {}

Token Lexer::Scan() {
  while (at_ < text_.size()) {
    if (text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (absl::ascii_isspace(text_[at_])) {
      ++at_;
    } else {
      break;
    }
  }
  const size_t start = at_;
  auto token = [&](Token::Kind kind, size_t end) {
    at_ = end;
    return Token{kind, text_.substr(start, end - start), start};
  };
  auto delimited = [&](Token::Kind kind, absl::string_view open,
                       absl::string_view close) {
    size_t end = text_.find(close, start + open.size());
    if (end == absl::string_view::npos) return token(Token::kBad, text_.size());
    at_ = end + close.size();
    size_t begin = start + open.size();
    return Token{kind, text_.substr(begin, end - begin), start};
  };
  if (start == text_.size()) return token(Token::kEnd, start);
  absl::string_view rest = text_.substr(start);
  if (absl::StartsWith(rest, "/*"))
    return delimited(Token::kComment, "/*", "*/");
  if (rest[0] == '"') return delimited(Token::kString, "\"", "\"");
  if (IsNameStart(rest[0])) {
    size_t end = start;
    auto part = [&](size_t i) {
      return i < text_.size() && IsNamePart(text_[i]);
    };
    while (part(end) ||
           (end < text_.size() && text_[end] == '.' && part(end + 1))) {
      ++end;
    }
    return token(Token::kName, end);
  }
  if (absl::ascii_isdigit(rest[0])) {
    return token(Token::kNumber, NumberEnd(text_, start));
  }
  for (absl::string_view symbol : symbols_) {
    if (absl::StartsWith(rest, symbol)) {
      return token(Token::kSymbol, start + symbol.size());
    }
  }
  return token(Token::kBad, start + 1);
}

Token Lexer::Next() { return std::exchange(token_, Scan()); }

bool Lexer::Accept(absl::string_view text) {
  bool word = token_.kind == Token::kSymbol || token_.kind == Token::kName;
  if (!word || token_.text != text) return false;
  Next();
  return true;
}

absl::Status Lexer::Expect(absl::string_view text) {
  if (Accept(text)) return absl::OkStatus();
  return ExpectedError(absl::StrCat("`", text, "`"));
}

void Lexer::Enter(const Token& quoted) {
  at_ = quoted.offset + 1;
  text_ = text_.substr(0, at_ + quoted.text.size());
  token_ = Scan();
}

absl::Status Lexer::Error(absl::string_view message) const {
  return ErrorAt(token_.offset, message);
}

absl::Status Lexer::ErrorAt(size_t offset, absl::string_view message) const {
  absl::string_view before = text_.substr(0, offset);
  size_t line = 1 + std::count(before.begin(), before.end(), '\n');
  size_t newline = before.rfind('\n');
  size_t column =
      newline == absl::string_view::npos ? offset + 1 : offset - newline;
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line, ", column ", column, ": ", message));
}

absl::Status Lexer::ExpectedError(absl::string_view what) const {
  return Error(absl::StrCat("expected ", what, ", found ", Found()));
}

std::string Lexer::Found() const {
  switch (token_.kind) {
    case Token::kEnd:
      return "the end of the text";
    case Token::kBad:
      if (absl::StartsWith(token_.text, "/*")) return "a comment without `*/`";
      if (absl::StartsWith(token_.text, "\"")) return "a string without end";
      return absl::StrCat("a stray `", absl::CHexEscape(token_.text), "`");
    default:
      return absl::StrCat("`", token_.text, "`");
  }
}

}  // namespace ocannl
