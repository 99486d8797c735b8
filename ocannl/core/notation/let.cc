// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/let.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

constexpr size_t kMaxLabel = 80;  // longer ones get no parts more

}  // namespace

bool AtLet(Lexer lexer) {
  return lexer.Accept("let") &&
         (lexer.peek().kind == Token::kName || IsNext(lexer, "%"));
}

absl::StatusOr<LetHead> TakeLet(Lexer& lexer) {
  OCANNL_RETURN_IF_ERROR(lexer.Expect("let"));
  if (lexer.Accept("%")) OCANNL_RETURN_IF_ERROR(lexer.Expect("op"));
  OCANNL_ASSIGN_OR_RETURN(Token name, TakeName(lexer, "a name behind `let`"));
  if (name.text == "rec" && lexer.peek().kind == Token::kName) {
    return lexer.ErrorAt(name, "a function does not call itself; write `let ",
                         lexer.peek().text, "` without `rec`");
  }
  LetHead head{.name = name, .arguments = {}, .labels = {}};
  while (lexer.peek().kind == Token::kName || IsNext(lexer, "~")) {
    const bool has_label = lexer.Accept("~");
    OCANNL_ASSIGN_OR_RETURN(Token argument, TakeName(lexer, "a label"));
    head.labels.emplace_back(has_label ? argument.text : "");
    if (has_label && lexer.Accept(":")) {
      OCANNL_ASSIGN_OR_RETURN(argument, TakeName(lexer, "an argument's name"));
    }
    if (absl::c_linear_search(head.arguments, argument.text)) {
      return lexer.ErrorAt(argument, "two arguments are `", argument.text,
                           "`; give one another name");
    }
    head.arguments.emplace_back(argument.text);
  }
  OCANNL_RETURN_IF_ERROR(lexer.Expect("="));
  return head;
}

bool AtIn(const Lexer& lexer) {
  return lexer.peek().kind == Token::kName && lexer.peek().text == "in";
}

bool AtOperand(const Lexer& lexer, const Scope& scope) {
  const Token& token = lexer.peek();
  if (token.kind == Token::kNumber) return true;
  if (token.kind == Token::kName) return !AtIn(lexer) || scope.Has("in");
  if (token.kind != Token::kSymbol) return IsQuotedName(token);
  for (absl::string_view start :
       {"(", "[", "[|", "{", "!.", "!..", "!@", "~-"}) {
    if (token.text == start) return true;
  }
  return false;
}

Tensor NamedAnew(Tensor value, int32_t first, const std::string& name) {
  const bool is_new = value.id.index >= first && !value.node().named;
  return is_new ? Named(value, name) : value;
}

std::string TensorFunction::LabelOf(size_t k) const {
  return k < labels.size() ? labels[k] : "";
}

absl::StatusOr<Arguments> TensorFunction::Match(const Arguments& given) const {
  const bool in_order = absl::c_all_of(
      given, [](const auto& argument) { return argument.first.empty(); });
  std::vector<std::optional<Tensor>> values(arguments.size());
  for (const auto& [label, value] : given) {
    size_t place = 0;
    while (place < values.size() &&
           (values[place] || (!in_order && LabelOf(place) != label))) {
      ++place;
    }
    if (place == values.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          label.empty() ? "an argument needs its label"
          : absl::c_linear_search(labels, label)
              ? absl::StrCat("`~", label, "` is given twice")
              : absl::StrCat("`", name, "` has no argument `~", label, "`"),
          "; ", Usage()));
    }
    values[place] = value;
  }
  Arguments matched;
  for (size_t k = 0; k < values.size(); ++k) {
    matched.emplace_back(arguments[k], *values[k]);
  }
  return matched;
}

std::string TensorFunction::Label(const Arguments& given) const {
  std::string label = name;
  for (const auto& [argument, tensor] : given) {
    const bool fits = label.size() < kMaxLabel;
    if (fits && tensor.node().named) {
      absl::StrAppend(&label, "_", tensor.node().name);
    }
  }
  return label;
}

std::string TensorFunction::Usage() const {
  std::vector<std::string> texts = arguments;
  for (size_t k = 0; k < texts.size(); ++k) {
    if (LabelOf(k).empty()) continue;
    texts[k] = absl::StrCat("~", LabelOf(k), ":", texts[k]);
  }
  return absl::StrCat("`", name, "` takes ", arguments.size(),
                      arguments.size() == 1 ? " argument" : " arguments",
                      "; write ", name, "(", absl::StrJoin(texts, ", "), ")");
}

void TensorFunctions::Add(TensorFunction function) {
  functions_.erase(functions_.begin() + known_, functions_.end());
  functions_.push_back(std::move(function));
  known_ = functions_.size();
}

std::optional<size_t> TensorFunctions::Find(absl::string_view name) const {
  for (size_t k = known_; k-- > 0;) {
    if (functions_[k].name == name) return k;
  }
  return std::nullopt;
}

size_t TensorFunctions::SetKnown(size_t known) {
  return std::exchange(known_, known);
}

}  // namespace ocannl
