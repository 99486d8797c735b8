// SPDX-License-Identifier: Apache-2.0
//
// Lexer: splits a text into names, numbers, quoted strings and symbols, with
// positions for error messages. Shared by the parsers of all text forms.
//
//   Lexer lexer("w1 *. x", {"*.", "*"});   ->   w1   *.   x   end
#ifndef OCANNL_CORE_BASE_LEXER_H_
#define OCANNL_CORE_BASE_LEXER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace ocannl {

struct Token {
  enum Kind { kName, kNumber, kString, kComment, kSymbol, kEnd, kBad };
  Kind kind;
  absl::string_view text;  // of a string or comment: without its delimiters
  size_t offset;           // of the first byte in the text
};

class Lexer {
 public:
  // `symbols`, longest first, are the operators and brackets of the language.
  // A name is [A-Za-z_][A-Za-z0-9_.]*; a `#` starts a comment to the end of the
  // line, which is skipped; `/* */` is a comment token. Both views must outlive
  // the lexer.
  Lexer(absl::string_view text, std::vector<absl::string_view> symbols);

  absl::string_view text() const { return text_; }
  const Token& peek() const { return token_; }
  Token Next();

  // Takes the next token if it is the symbol or name `text`.
  bool Accept(absl::string_view text);
  // The same, or an error "expected `text`, found ...".
  absl::Status Expect(absl::string_view text);
  // Takes the next token, which must be of the kind: "expected <what>, ...".
  absl::StatusOr<Token> Take(Token::Kind kind, absl::string_view what);

  // From now on the tokens inside of `quoted`, a kString of the text; errors
  // name their places in the whole text.
  void Enter(const Token& quoted);

  // InvalidArgument "line 2, column 5: <parts>" at the next token, at `offset`
  // or at a token.
  template <class... Parts>
  absl::Status Error(const Parts&... parts) const {
    return ErrorAt(token_, parts...);
  }
  template <class... Parts>
  absl::Status ErrorAt(size_t offset, const Parts&... parts) const {
    return MessageAt(offset, absl::StrCat(parts...));
  }
  template <class... Parts>
  absl::Status ErrorAt(const Token& token, const Parts&... parts) const {
    return ErrorAt(token.offset, parts...);
  }
  // "expected <what>, found ..." at the next token.
  absl::Status ExpectedError(absl::string_view what) const;
  // How an error message names the next token.
  std::string Found() const;

 private:
  Token Scan();
  absl::Status MessageAt(size_t offset, const std::string& message) const;

  absl::string_view text_;
  std::vector<absl::string_view> symbols_;
  size_t at_ = 0;
  Token token_;
};

// Characters beyond ASCII that editors and web pages put in the place of those
// of a language: curly quotes, minus signs, blanks that do not break.

// The bytes of the UTF-8 character that `text` starts with; 0 if there is none:
// the text is empty, or not valid UTF-8 there.
size_t CharacterSize(absl::string_view text);

// The code point of that character, of `size` bytes; 0 if there are none.
uint32_t DecodeCharacter(absl::string_view text, size_t size);

// How a message names the character that `text` starts with, and what to write
// in its place. An invalid byte is shown in hexadecimal, as are control codes.
std::string DescribeCharacter(absl::string_view text);

// The same of the first character beyond ASCII: "; found `−` (U+2212); write
// -". Empty if all of `text` is ASCII.
std::string LookalikeHint(absl::string_view text);

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_LEXER_H_
