// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/size_rules.h"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/declaration.h"
#include "ocannl/core/tensor/dims.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/leaf.h"

namespace ocannl {
namespace {

class RuleParser {
 public:
  RuleParser(Lexer& lexer, Scope& scope, SourceLocation where)
      : lexer_(lexer), scope_(scope), where_(where) {}

  // One of them: "i" = 3, "i" = "j", "i" = 2 * "j", "..v.." = [2, 3],
  // "i" >= 3, "i" : n, "i".
  absl::Status NameRule(std::optional<Tensor> result) {
    std::optional<Tensor> of = result;
    if (scope_.is_trial()) of = std::nullopt;
    OCANNL_ASSIGN_OR_RETURN(const Token token, TakeString());
    const absl::string_view name = token.text;
    absl::Status status;
    if (lexer_.Accept(":")) {
      OCANNL_ASSIGN_OR_RETURN(Token as, TakeName(lexer_, "a name for a size"));
      return Capture(result, token, as);
    }
    if (IsNext(lexer_, ";") || IsNext(lexer_, "]")) {
      // "n" alone is "n" : n, and "..v.." is "..v.." : v.
      Token as = token;
      while (absl::ConsumePrefix(&as.text, ".")) continue;
      while (absl::ConsumeSuffix(&as.text, ".")) continue;
      return Capture(result, token, as);
    }
    const Names& names = scope_.names();
    if (lexer_.Accept(">=")) {
      OCANNL_ASSIGN_OR_RETURN(int64_t size, TakeSize(lexer_, names));
      if (of) status = SetAtLeast(*of, name, size);
    } else {
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("="));
      if (lexer_.peek().kind == Token::kString) {
        OCANNL_ASSIGN_OR_RETURN(Token other, TakeString());
        if (of) status = SetEqual(*of, name, *of, other.text);
      } else if (lexer_.Accept("[")) {
        OCANNL_ASSIGN_OR_RETURN(Dims sizes, TakeSizes(lexer_, names));
        if (of) status = SetDims(*of, name, std::move(sizes));
      } else {
        OCANNL_ASSIGN_OR_RETURN(int64_t size, TakeSize(lexer_, names));
        if (lexer_.Accept("*")) {
          OCANNL_ASSIGN_OR_RETURN(Token other, TakeString());
          if (of) status = SetScale(*of, name, size, *of, other.text);
        } else if (of) {
          status = SetDim(*of, name, size);
        }
      }
    }
    if (!status.ok()) return lexer_.ErrorAt(token, status.message());
    return absl::OkStatus();
  }

 private:
  // From here on `as` is the size of what `name` stands for.
  absl::Status Capture(std::optional<Tensor> of, const Token& name,
                       const Token& as) {
    if (!of) return absl::OkStatus();
    const std::optional<Tensor> given = scope_.FindGiven(as.text);
    const bool is_size =
        given && (scope_.is_trial() ||
                  std::holds_alternative<DimSource>(given->node().source));
    if (given && !(is_size && scope_.FindDeclared(as.text))) {
      return lexer_.ErrorAt(as.offset, "there is a tensor `", as.text,
                            "` already; give the size another name");
    }
    Tensor size = *of;  // any tensor will do in a trial
    if (!scope_.is_trial()) {
      size = EmbedDim(*of, name.text, where_);
      OCANNL_RETURN_IF_ERROR(CheckNoError(lexer_, name.offset, size));
    }
    scope_.Declare(std::string(as.text), size);
    return absl::OkStatus();
  }

  absl::StatusOr<Token> TakeString() {
    return lexer_.Take(Token::kString,
                       "a name of the spec in quotes, such as \"i\"");
  }

  Lexer& lexer_;
  Scope& scope_;
  SourceLocation where_;
};

}  // namespace

absl::Status TakeSizeRules(Lexer& lexer, Scope& scope, std::optional<Tensor> of,
                           SourceLocation where) {
  Lexer inside = lexer;
  if (!inside.Accept("[") || !AtNameRule(inside)) {
    return absl::OkStatus();  // an array
  }
  lexer = std::move(inside);
  RuleParser parser(lexer, scope, where);
  do {
    if (IsNext(lexer, "]")) break;  // after the last `;`
    OCANNL_RETURN_IF_ERROR(parser.NameRule(of));
  } while (lexer.Accept(";"));
  return TakeClosing(lexer, "`;`", "]");
}

}  // namespace ocannl
