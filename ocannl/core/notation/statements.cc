// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/statements.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/array.h"
#include "ocannl/core/notation/habits.h"
#include "ocannl/core/notation/operators.h"

namespace ocannl {
namespace {

// Deep enough for any code worth writing, shallow enough for any stack.
constexpr int kMaxStatementDepth = 100;

std::vector<absl::string_view> StatementSymbols() {
  std::vector<absl::string_view> symbols = NotationSymbols();
  symbols.insert(symbols.end(), {"~~", "."});
  for (const AssignOperator& assign : kAssignOperators) {
    symbols.push_back(assign.symbol);
  }
  std::stable_sort(symbols.begin(), symbols.end(),
                   [](absl::string_view a, absl::string_view b) {
                     return a.size() > b.size();
                   });
  return symbols;
}

class StatementParser {
 public:
  // `text` has no comments.
  StatementParser(absl::string_view text, const Names& names)
      : text_(text), names_(names), lexer_(text, StatementSymbols()) {}

  absl::StatusOr<std::vector<Statement>> Parse() {
    std::vector<Statement> statements;
    OCANNL_RETURN_IF_ERROR(Sequence(0, statements));
    if (lexer_.peek().kind != Token::kEnd) {
      return lexer_.ExpectedError("`;` or the end of the text");
    }
    return statements;
  }

 private:
  bool AtEnd() const {
    return lexer_.peek().kind == Token::kEnd || IsNext(lexer_, ")");
  }

  // Statements up to a bracket that is not theirs, or the end.
  absl::Status Sequence(int depth, std::vector<Statement>& statements) {
    std::vector<Statement>* into = &statements;
    do {
      if (AtEnd()) break;
      OCANNL_RETURN_IF_ERROR(One(depth, *into));
      if (comment_ == nullptr) continue;
      into = &std::exchange(comment_, nullptr)->body;
      ++depth;
    } while (lexer_.Accept(";"));
    return absl::OkStatus();
  }

  absl::Status One(int depth, std::vector<Statement>& statements) {
    if (depth > kMaxStatementDepth) {
      return lexer_.Error("the statements are nested too deeply");
    }
    if (lexer_.Accept("~~")) return Block(depth, statements);
    if (lexer_.Accept("if")) return Choice(depth, statements);
    if (lexer_.Accept("for")) return Loop(depth, statements);
    if (lexer_.Accept("(")) {
      OCANNL_RETURN_IF_ERROR(Sequence(depth + 1, statements));
      return TakeClosing(lexer_, "`;`", ")");
    }
    if (lexer_.peek().kind == Token::kString) {
      const Token target = lexer_.Next();
      if (!IsQuotedName(target)) {
        return lexer_.ErrorAt(target.offset, "`", target.text,
                              "` is no name; write letters, ",
                              "digits and `_`");
      }
      return Assignment(target, /*declares=*/true, statements);
    }
    const bool declares = lexer_.Accept("{");
    OCANNL_ASSIGN_OR_RETURN(
        Token target, TakeName(lexer_, "a statement, such as `p =- 0.1 *. g`"));
    if (declares) OCANNL_RETURN_IF_ERROR(lexer_.Expect("}"));
    if (!declares && AddCode(target, statements)) return absl::OkStatus();
    if (declares && lexer_.Accept("like")) return Like(target, statements);
    return Assignment(target, declares, statements);
  }

  absl::Status Like(const Token& target, std::vector<Statement>& statements) {
    OCANNL_ASSIGN_OR_RETURN(Token of, TakeName(lexer_, "the name of an array"));
    statements.push_back(LikeStatement{.target = std::string(target.text),
                                       .of = std::string(of.text),
                                       .offset = target.offset,
                                       .of_offset = of.offset});
    return absl::OkStatus();
  }

  // Adds x.forward and the like.
  static bool AddCode(const Token& name, std::vector<Statement>& statements) {
    constexpr std::pair<absl::string_view, CodeStatement::Part> kParts[] = {
        {".forward", CodeStatement::kForward},
        {".zero_grads", CodeStatement::kZeroGrads},
        {".backprop", CodeStatement::kBackprop},
    };
    for (const auto& [suffix, part] : kParts) {
      if (!absl::EndsWith(name.text, suffix)) continue;
      statements.push_back(
          CodeStatement{.tensor = std::string(name.text.substr(
                            0, name.text.size() - suffix.size())),
                        .part = part,
                        .offset = name.offset});
      return true;
    }
    return false;
  }

  absl::Status Block(int depth, std::vector<Statement>& statements) {
    auto block = std::make_unique<BlockStatement>();
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("("));
    while (!IsNext(lexer_, ";") && !IsNext(lexer_, ")")) {
      const Token word = lexer_.peek();
      if (word.kind == Token::kName) block->tensors.emplace_back(word.text);
      if (word.kind != Token::kName && word.kind != Token::kString) {
        return lexer_.ExpectedError(
            "a tensor or a text in quotes for the comment, `;` or `)`");
      }
      block->words.emplace_back(lexer_.Next().text);
    }
    if (lexer_.Accept(")")) {
      comment_ = block.get();
      statements.push_back(std::move(block));
      return absl::OkStatus();
    }
    OCANNL_RETURN_IF_ERROR(lexer_.Expect(";"));
    OCANNL_RETURN_IF_ERROR(Sequence(depth + 1, block->body));
    statements.push_back(std::move(block));
    return TakeClosing(lexer_, "`;`", ")");
  }

  // if c then s else t: `else` and what follows may be left out.
  absl::Status Choice(int depth, std::vector<Statement>& statements) {
    OCANNL_ASSIGN_OR_RETURN(bool chosen, Condition());
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("then"));
    std::vector<Statement> other;
    OCANNL_RETURN_IF_ERROR(Alone(depth + 1, chosen ? statements : other));
    if (!lexer_.Accept("else")) return absl::OkStatus();
    return Alone(depth + 1, chosen ? other : statements);
  }

  // for p in params do s
  absl::Status Loop(int depth, std::vector<Statement>& statements) {
    auto loop = std::make_unique<ForStatement>();
    OCANNL_ASSIGN_OR_RETURN(Token name, TakeName(lexer_, "a name for each"));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("in"));
    OCANNL_ASSIGN_OR_RETURN(Token list,
                            TakeName(lexer_, "the name of a list of tensors"));
    if (!names_.lists.contains(list.text)) {
      return lexer_.ErrorAt(list.offset, "no list `", list.text,
                            "`; put it into the names");
    }
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("do"));
    loop->name = std::string(name.text);
    loop->list = std::string(list.text);
    OCANNL_RETURN_IF_ERROR(Alone(depth + 1, loop->body));
    statements.push_back(std::move(loop));
    return absl::OkStatus();
  }

  // A statement that no sequence goes on from: a comment is of nothing then.
  absl::Status Alone(int depth, std::vector<Statement>& statements) {
    absl::Status status = One(depth, statements);
    comment_ = nullptr;
    return status;
  }

  // Float.(momentum > 0.0), Float.equal p 2, momentum > 0 or nesterov.
  absl::StatusOr<bool> Condition() {
    if (lexer_.Accept("Float.equal")) {
      OCANNL_ASSIGN_OR_RETURN(double left, Number());
      OCANNL_ASSIGN_OR_RETURN(double right, Number());
      return left == right;
    }
    const bool dotted = lexer_.Accept("Float");
    if (dotted) {
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("."));
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("("));
    }
    OCANNL_ASSIGN_OR_RETURN(double left, Number());
    bool holds = left != 0;
    for (absl::string_view symbol : {">", "<", ">=", "<=", "=", "<>"}) {
      if (!lexer_.Accept(symbol)) continue;
      OCANNL_ASSIGN_OR_RETURN(double right, Number());
      holds = symbol == ">"    ? left > right
              : symbol == "<"  ? left < right
              : symbol == ">=" ? left >= right
              : symbol == "<=" ? left <= right
              : symbol == "="  ? left == right
                               : left != right;
      break;
    }
    if (dotted) OCANNL_RETURN_IF_ERROR(TakeClosing(lexer_, "`>`", ")"));
    return holds;
  }

  absl::StatusOr<double> Number() {
    const Token token = lexer_.peek();
    double value = 0;
    if (token.kind == Token::kNumber && absl::SimpleAtod(token.text, &value)) {
      lexer_.Next();
      return value;
    }
    if (token.kind != Token::kName) {
      return lexer_.ExpectedError("a number or the name of one");
    }
    return TakeNamedNumber(lexer_, names_, /*whole=*/false);
  }

  absl::Status Assignment(const Token& target, bool declares,
                          std::vector<Statement>& statements) {
    const AssignOperator* assign = AcceptAssign(lexer_);
    if (assign == nullptr) {
      return lexer_.ExpectedError("an assignment, such as `=:` or `=+`");
    }
    const size_t begin = lexer_.peek().offset;
    OCANNL_RETURN_IF_ERROR(SkipValue());
    const size_t end = lexer_.peek().offset;
    if (begin == end) return lexer_.ExpectedError("an expression");
    std::optional<std::string> logic;
    bool of_operation = false;
    if (lexer_.Accept("~") && !(of_operation = lexer_.Accept("projections"))) {
      OCANNL_ASSIGN_OR_RETURN(
          const Token quoted,
          TakeLogic(lexer_,
                    "\".\", \"@\", \"T\" or a spec in quotes, such as "
                    "\"i => 0\""));
      logic = std::string(quoted.text);
    }
    statements.push_back(
        AssignStatement{.target = std::string(target.text),
                        .declares = declares,
                        .accum = assign->accum,
                        .reset = assign->reset,
                        .value = std::string(text_.substr(begin, end - begin)),
                        .value_offset = begin,
                        .logic = std::move(logic),
                        .of_operation = of_operation,
                        .offset = target.offset});
    return absl::OkStatus();
  }

  // Takes what comes before `;`, `else`, `~` or a bracket that it does not
  // open.
  absl::Status SkipValue() {
    SkipUntil(lexer_, [](const Lexer& at, int depth) {
      const Token& next = at.peek();
      const bool ends = IsNext(at, ";") || IsNext(at, "~") ||
                        (next.kind == Token::kName && next.text == "else");
      return next.kind == Token::kBad || (depth == 0 && ends);
    });
    if (lexer_.peek().kind != Token::kBad) return absl::OkStatus();
    return Unexpected(lexer_, "an expression");
  }

  absl::string_view text_;
  const Names& names_;
  Lexer lexer_;
  BlockStatement* comment_ = nullptr;  // that the sequence goes on in
};

}  // namespace

absl::StatusOr<std::vector<Statement>> ParseStatements(absl::string_view text,
                                                       const Names& names) {
  OCANNL_ASSIGN_OR_RETURN(std::string code, WithoutComments(text));
  return StatementParser(code, names).Parse();
}

absl::StatusOr<ParsedTensor> ParseValue(Graph& graph, absl::string_view text,
                                        const AssignStatement& statement,
                                        const Names& names,
                                        SourceLocation where) {
  absl::StatusOr<ParsedTensor> parsed =
      ParseTensor(graph, statement.value, names, where);
  if (parsed.ok()) return parsed;
  // Behind as many blanks and lines as it has before it, so that its errors
  // name the right place.
  return ParseTensor(
      graph, Blanks(text.substr(0, statement.value_offset)) + statement.value,
      names, where);
}

absl::Status ErrorAt(absl::string_view text, size_t offset,
                     absl::string_view message) {
  return Lexer(text, {}).ErrorAt(offset, message);
}

}  // namespace ocannl
