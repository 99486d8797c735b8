// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/lexer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

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

struct Lookalike {
  uint32_t code;
  absl::string_view write;
  absl::string_view name = "";  // of what shows nothing
};

constexpr Lookalike kLookalikes[] = {
    {0x2018, "'"},
    {0x2019, "'"},
    {0x201c, "\""},
    {0x201d, "\""},
    {0x201e, "\""},
    {0x00ab, "\""},
    {0x00bb, "\""},
    {0x2010, "-"},
    {0x2011, "-"},
    {0x2012, "-"},
    {0x2013, "-"},
    {0x2014, "-"},
    {0x2212, "-"},
    {0x00d7, "*, or *. for elements"},
    {0x00b7, "*, or *. for elements"},
    {0x22c5, "*, or *. for elements"},
    {0x2217, "*, or *. for elements"},
    {0x2299, "*."},
    {0x00f7, "/"},
    {0x2215, "/"},
    {0x2264, "<="},
    {0x2265, ">="},
    {0x2260, "!="},
    {0x2192, "->, or => before the result of a spec"},
    {0x21d2, "=>"},
    {0x2190, ":="},
    {0x2026, "..."},
    {0x00b2, "**. 2"},
    {0x00b3, "**. 3"},
    {0x221a, "sqrt"},
    {0x2211, "++ with a spec"},
    {0x221e, "inf"},
    {0x03c0, "3.1415927"},
    {0x22a4, "\"i->o => o->i\" as the spec of ++"},
    {0x00a0, "a blank", "no-break space"},
    {0x2007, "a blank", "figure space"},
    {0x2009, "a blank", "thin space"},
    {0x202f, "a blank", "narrow no-break space"},
    {0x3000, "a blank", "ideographic space"},
    {0x200b, "nothing", "zero-width space"},
    {0x200c, "nothing", "zero-width non-joiner"},
    {0x200d, "nothing", "zero-width joiner"},
    {0x2060, "nothing", "word joiner"},
    {0xfeff, "nothing", "byte order mark"},
};

// What ASCII is meant by a full-width form, U+FF01 to U+FF5E.
std::string FullWidth(uint32_t code) {
  if (code < 0xff01 || code > 0xff5e) return "";
  return std::string(1, static_cast<char>(code - 0xff01 + '!'));
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

absl::StatusOr<Token> Lexer::Take(Token::Kind kind, absl::string_view what) {
  if (token_.kind != kind) return ExpectedError(what);
  return Next();
}

void Lexer::Enter(const Token& quoted) {
  at_ = quoted.offset + 1;
  text_ = text_.substr(0, at_ + quoted.text.size());
  token_ = Scan();
}

absl::Status Lexer::MessageAt(size_t offset, const std::string& message) const {
  absl::string_view before = text_.substr(0, offset);
  size_t line = 1 + std::count(before.begin(), before.end(), '\n');
  size_t newline = before.rfind('\n');
  size_t column =
      newline == absl::string_view::npos ? offset + 1 : offset - newline;
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line, ", column ", column, ": ", message));
}

absl::Status Lexer::ExpectedError(absl::string_view what) const {
  return Error("expected ", what, ", found ", Found());
}

std::string Lexer::Found() const {
  switch (token_.kind) {
    case Token::kEnd:
      return "the end of the text";
    case Token::kBad:
      if (absl::StartsWith(token_.text, "/*")) return "a comment without `*/`";
      if (absl::StartsWith(token_.text, "\"")) return "a string without end";
      return absl::StrCat("a stray ",
                          DescribeCharacter(text_.substr(token_.offset)));
    default:
      return absl::StrCat("`", token_.text, "`");
  }
}

uint32_t DecodeCharacter(absl::string_view text, size_t size) {
  auto byte = [&](size_t k) { return static_cast<uint8_t>(text[k]); };
  if (size < 2) return size == 0 ? 0 : byte(0);
  uint32_t code = byte(0) & (0xff >> (size + 1));
  for (size_t k = 1; k < size; ++k) code = code << 6 | (byte(k) & 0x3f);
  return code;
}

// As in the Unicode Standard 15.0, table 3-7: no surrogates, no longer form of
// a shorter one.
size_t CharacterSize(absl::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (size_t k = 1; k < size; ++k) {
    if ((static_cast<uint8_t>(text[k]) & 0xc0) != 0x80) return 0;
  }
  const uint32_t code = DecodeCharacter(text, size);
  const bool is_longer = (size == 3 && code < 0x800) ||
                         (size == 4 && (code < 0x10000 || code > 0x10ffff));
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return is_longer || is_surrogate ? 0 : size;
}

std::string DescribeCharacter(absl::string_view text) {
  const size_t size = CharacterSize(text);
  const uint32_t code = DecodeCharacter(text, size);
  // U+0080 to U+009F are control codes of terminals.
  if (size < 2 || code < 0xa0) {
    return absl::StrCat("`", absl::CHexEscape(text.substr(0, 1)), "`");
  }
  const std::string number = absl::StrFormat(" (U+%04X)", code);
  for (const Lookalike& known : kLookalikes) {
    if (known.code != code) continue;
    return absl::StrCat(known.name.empty()
                            ? absl::StrCat("`", text.substr(0, size), "`")
                            : std::string(known.name),
                        number, "; write ", known.write);
  }
  const std::string ascii = FullWidth(code);
  return absl::StrCat("`", text.substr(0, size), "`", number,
                      ascii.empty() ? "; names and symbols are of ASCII"
                                    : absl::StrCat("; write ", ascii));
}

std::string LookalikeHint(absl::string_view text) {
  const auto at = std::find_if_not(text.begin(), text.end(), [](char c) {
    return absl::ascii_isascii(static_cast<unsigned char>(c));
  });
  if (at == text.end()) return "";
  return absl::StrCat("; found ",
                      DescribeCharacter(text.substr(at - text.begin())));
}

}  // namespace ocannl
