// SPDX-License-Identifier: Apache-2.0
//
// LoopLexer: the tokens of .ll text, and what .cd text has in common with it.
#ifndef OCANNL_CORE_LOOP_LOOP_LEXER_H_
#define OCANNL_CORE_LOOP_LOOP_LEXER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/index/affine.h"

namespace ocannl {

class LoopLexer : public Lexer {
 public:
  // `more` are symbols beside those of .ll, which they go before.
  explicit LoopLexer(absl::string_view text,
                     std::vector<absl::string_view> more = {});

  // Whether the next token is a name; a word of .ll is one in quotes.
  bool AtName() const;

  // The next token, which must be such a thing; `what` names it in the error.
  absl::StatusOr<Token> TakeName(absl::string_view what);
  absl::StatusOr<int64_t> TakeInteger(absl::string_view what);  // up to 2^40
  absl::StatusOr<DType> TakeDType();
  // [2, 3]. Error: more than kMaxLoopDepth axes: no nest runs over them.
  absl::StatusOr<Dims> TakeDims();
  // 2*i3 + batch - 1; `symbol` takes the name of one.
  absl::StatusOr<Affine> TakeIndex(
      absl::FunctionRef<absl::StatusOr<Symbol>()> symbol);
  // name (batch : [0..79], step):
  absl::Status TakeHeader(
      std::string& name,
      absl::FunctionRef<void(std::string name, std::optional<int64_t> range)>
          declare);
};

// The error "line 2, column 5: ..." about the .ll or .cd `text`, with what to
// write there if it is written as in C, Python or another scheduling language:
//
//   y[i0] += x[i0];   ->   "...; write y[i0] := y[i0] + x; ..."
absl::Status WithLoopHabit(const absl::Status& status, absl::string_view text);

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_LOOP_LEXER_H_
