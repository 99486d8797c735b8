// SPDX-License-Identifier: Apache-2.0
//
// LoopLexer: the tokens of .ll text.
#ifndef OCANNL_CORE_LOOP_LOOP_LEXER_H_
#define OCANNL_CORE_LOOP_LOOP_LEXER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/ndarray.h"

namespace ocannl {

class LoopLexer : public Lexer {
 public:
  explicit LoopLexer(absl::string_view text);

  // Whether the next token is a name; a word of .ll is one in quotes.
  bool AtName() const;

  // The next token, which must be such a thing; `what` names it in the error.
  absl::StatusOr<std::string> TakeName(absl::string_view what);
  absl::StatusOr<int64_t> TakeInteger(absl::string_view what);  // up to 2^40
  absl::StatusOr<DType> TakeDType();
  // [2, 3]. Error: more than kMaxLoopDepth axes: no nest runs over them.
  absl::StatusOr<Dims> TakeDims();
};

// The precedence of C's binary operator `symbol`, from 1; 0: it is none.
int InfixPrecedence(absl::string_view symbol);

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_LOOP_LEXER_H_
