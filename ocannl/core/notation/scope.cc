// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/scope.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/function.h"
#include "ocannl/core/notation/habits.h"
#include "ocannl/core/notation/number.h"
#include "ocannl/core/tensor/leaf.h"

namespace ocannl {
namespace {

// For the name of a function with a prefix, or in capitals: np.exp, x.exp, Exp.
std::string SpellingHint(absl::string_view name) {
  const size_t dot = name.rfind('.');  // npos + 1 is 0
  const Function* function =
      FindFunction(absl::AsciiStrToLower(name.substr(dot + 1)));
  if (function == nullptr) return "";
  return absl::StrCat("; write ", FunctionExample(*function));
}

// For a text such as y = x + 1 or f"...", at whose `name` it is.
std::string TextHint(const Lexer& lexer, const Token& name) {
  const absl::string_view rest = lexer.text().substr(lexer.peek().offset);
  for (absl::string_view assigns : {":=", "+=", "-=", "*=", "<-"}) {
    if (absl::StartsWith(rest, assigns)) return HabitHint(assigns);
  }
  if (IsNext(lexer, "=")) return HabitHint(":=");
  const bool goes_on = lexer.peek().kind == Token::kString &&
                       lexer.peek().offset == name.offset + name.text.size();
  return goes_on ? HabitHint("f\"") : "";
}

template <class Map>
void AppendKeys(const Map& map, std::vector<std::string>& keys) {
  for (const auto& entry : map) keys.push_back(entry.first);
}

}  // namespace

std::string Blanks(absl::string_view text) {
  std::string blanks(text);
  for (char& c : blanks) c = c == '\n' ? '\n' : ' ';
  return blanks;
}

absl::StatusOr<std::string> WithoutComments(absl::string_view text) {
  std::string code;
  size_t start = 0;
  int depth = 0;
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const absl::string_view rest = text.substr(at);
    if (depth == 0 && text[at] == '"') quoted = !quoted;
    if (!quoted && absl::StartsWith(rest, "(*")) {
      if (depth++ == 0) start = at;
      ++at;
    } else if (depth > 0 && absl::StartsWith(rest, "*)")) {
      ++at;
      if (--depth == 0) {
        code += Blanks(text.substr(start, at + 1 - start));
      }
    } else if (depth == 0) {
      code += text[at];
    }
  }
  if (depth == 0) return code;
  return Lexer(text, {}).ErrorAt(start, "a comment without its `*)`");
}

bool IsNext(const Lexer& lexer, absl::string_view symbol) {
  return lexer.peek().kind == Token::kSymbol && lexer.peek().text == symbol;
}

bool AtNameRule(Lexer lexer) {
  const Token name = lexer.Next();
  return name.kind == Token::kString ||
         (name.kind == Token::kName &&
          (IsNext(lexer, "=") || IsNext(lexer, ">=") || IsNext(lexer, ":")));
}

bool IsQuotedName(const Token& token) {
  const Token name = Lexer(token.text, {}).peek();
  return token.kind == Token::kString && name.kind == Token::kName &&
         name.text == token.text;
}

absl::Status TakeClosing(Lexer& lexer, absl::string_view before,
                         absl::string_view bracket) {
  if (lexer.Accept(bracket)) return absl::OkStatus();
  const std::string what = absl::StrCat(before, " or `", bracket, "`");
  return bracket == "in" ? Unexpected(lexer, what) : lexer.ExpectedError(what);
}

absl::StatusOr<Token> TakeName(Lexer& lexer, absl::string_view what) {
  return lexer.Take(Token::kName, what);
}

absl::StatusOr<DType> TakeDType(Lexer& lexer) {
  std::optional<DType> dtype;
  if (lexer.peek().kind == Token::kName) dtype = FindDType(lexer.peek().text);
  if (!dtype) {
    return lexer.Error("expected a dtype, which is ", DTypeNames(), ", found ",
                       lexer.Found(), NameHabitHint(lexer.peek().text, true));
  }
  lexer.Next();
  return *dtype;
}

absl::StatusOr<double> TakeNamedNumber(Lexer& lexer, const Names& names,
                                       bool whole) {
  OCANNL_ASSIGN_OR_RETURN(Token name, TakeName(lexer, "the name of a number"));
  auto found = names.numbers.find(name.text);
  if (found == names.numbers.end()) {
    std::vector<std::string> all;
    AppendKeys(names.numbers, all);
    return lexer.ErrorAt(name.offset, "no number `", name.text, "`",
                         NearNamesHint(name.text, all), "; ",
                         absl::Substitute(names.fixes.number, name.text));
  }
  if (!whole || IsWholeNumber(found->second)) return found->second;
  return lexer.ErrorAt(name.offset, "`", name.text, "` is ",
                       NumberText(found->second),
                       ", where a whole number must stand; give it one");
}

absl::Status CheckNoError(const Lexer& lexer, size_t offset, Tensor tensor,
                          absl::string_view symbol) {
  const auto* error = std::get_if<ErrorSource>(&tensor.node().source);
  if (error == nullptr) return absl::OkStatus();
  return lexer.ErrorAt(offset, error->status.message(), HabitHint(symbol));
}

void Scope::Declare(std::string name, Tensor tensor) {
  declared_.insert_or_assign(std::move(name), tensor);
}

std::optional<Tensor> Scope::FindDeclared(absl::string_view name) const {
  auto found = declared_.find(name);
  if (found == declared_.end()) return std::nullopt;
  return found->second;
}

Bindings Scope::Enter(size_t count, const Arguments& arguments) {
  Bindings all = bound_;
  Unbind(count);
  for (const auto& [name, tensor] : arguments) Bind(name, tensor);
  return all;
}

bool Scope::IsBound(absl::string_view name) const {
  for (auto bound = bound_.rbegin(); bound != bound_.rend(); ++bound) {
    if (bound->first != name || !bound->second) continue;
    const std::optional<Tensor> declared = FindDeclared(name);
    return !declared || declared->id != bound->second->id;
  }
  return false;
}

std::optional<Tensor> Scope::FindGiven(absl::string_view name) const {
  for (auto bound = bound_.rbegin(); bound != bound_.rend(); ++bound) {
    if (bound->first == name) return bound->second;
  }
  if (std::optional<Tensor> declared = FindDeclared(name)) return declared;
  auto found = names_.tensors.find(name);
  if (found == names_.tensors.end()) return std::nullopt;
  // The graph may be a copy of the tensor's own.
  return Tensor{&graph_, found->second.id};
}

std::optional<Tensor> Scope::FindInGraph(absl::string_view name) const {
  std::optional<TensorId> id = graph_.Find(name);
  if (!id || !graph_[*id].named) return std::nullopt;
  return Tensor{&graph_, *id};
}

std::optional<Tensor> Scope::FindNumber(absl::string_view name,
                                        SourceLocation where) const {
  if (!names_.is_code) return std::nullopt;
  auto found = names_.numbers.find(name);
  if (found == names_.numbers.end()) {
    absl::string_view of = name;
    if (!absl::ConsumeSuffix(&of, "_t")) return std::nullopt;
    found = names_.numbers.find(of);
    if (found == names_.numbers.end()) return std::nullopt;
  }
  const Tensor number = ocannl::Number(graph_, found->second, where);
  graph_.SetText(number.id, std::string(name));
  return number;
}

Tensor Scope::Placeholder(absl::string_view name, SourceLocation where) {
  if (std::optional<Tensor> given = FindGiven(name)) return *given;
  Tensor placeholder = ocannl::Placeholder(graph_, std::string(name), where);
  Declare(std::string(name), placeholder);
  return placeholder;
}

absl::StatusOr<int32_t> Scope::TakeStatic(Lexer& lexer) const {
  OCANNL_ASSIGN_OR_RETURN(Token name,
                          TakeName(lexer, "the name of a static index"));
  if (std::optional<int32_t> index = FindStatic(name.text)) return *index;
  std::vector<std::string> all;
  AppendKeys(names_.statics, all);
  for (const StaticSymbol& symbol : graph_.statics()) {
    all.push_back(symbol.name);
  }
  return lexer.ErrorAt(name.offset, "no static index `", name.text, "`",
                       NearNamesHint(name.text, all), "; ",
                       absl::Substitute(names_.fixes.static_index, name.text));
}

absl::Status Scope::Unknown(const Lexer& lexer, const Token& name,
                            bool is_call) const {
  auto error = [&](absl::string_view message) {
    return lexer.ErrorAt(name, message);
  };
  if (FindStatic(name.text)) {
    return error(absl::StrCat("`", name.text, "` is a static index; write !@",
                              name.text));
  }
  if (names_.numbers.contains(name.text)) {
    return error(
        absl::StrCat("`", name.text, "` is a number; write !.", name.text));
  }
  std::vector<std::string> all = FunctionNames();
  std::string habit = NameHabitHint(name.text, is_call);
  if (habit.empty()) habit = SpellingHint(name.text);
  if (habit.empty()) habit = TextHint(lexer, name);
  if (!habit.empty()) {
    return error(absl::StrCat("no ", is_call ? "function" : "tensor", " `",
                              name.text, "`", habit));
  }
  if (is_call) {
    return error(absl::StrCat(
        "no function `", name.text, "`", NearNamesHint(name.text, all), "; ",
        absl::Substitute(names_.fixes.function, name.text)));
  }
  AppendKeys(bound_, all);
  AppendKeys(declared_, all);
  AppendKeys(names_.tensors, all);
  for (TensorId id{0}; id.index < graph_.size(); ++id.index) {
    if (graph_[id].named) all.push_back(graph_[id].name);
  }
  return error(absl::StrCat("no tensor `", name.text, "`",
                            NearNamesHint(name.text, all), "; ",
                            absl::Substitute(names_.fixes.tensor, name.text)));
}

std::optional<int32_t> Scope::FindStatic(absl::string_view name) const {
  auto found = names_.statics.find(name);
  if (found != names_.statics.end()) return found->second;
  for (size_t i = 0; i < graph_.statics().size(); ++i) {
    if (graph_.statics()[i].name == name) return static_cast<int32_t>(i);
  }
  return std::nullopt;
}

}  // namespace ocannl
