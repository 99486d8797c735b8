// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/statements/statements.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/array.h"
#include "ocannl/core/notation/habits.h"
#include "ocannl/core/notation/let.h"
#include "ocannl/core/notation/operators.h"
#include "ocannl/core/notation/statements/statement_parts.h"

namespace ocannl {
namespace {

// Deep enough for any code worth writing, shallow enough for any stack.
constexpr int kMaxStatementDepth = 100;
// So that names of names do not repeat code without end.
constexpr int kMaxRepeats = 1000;

std::vector<absl::string_view> StatementSymbols() {
  std::vector<absl::string_view> symbols = NotationSymbols();
  symbols.insert(symbols.end(), {"~~", ".", "->"});
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
    return lexer_.peek().kind == Token::kEnd || IsNext(lexer_, ")") ||
           IsNext(lexer_, "]") || AtInOfLet();
  }

  // Whether next is the `in` of a let that is open.
  bool AtInOfLet() const { return open_lets_ > 0 && AtIn(lexer_); }

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
    if (lexer_.Accept("fun")) {
      OCANNL_RETURN_IF_ERROR(SkipParameters(lexer_, "->"));
      return Sequence(depth + 1, statements);
    }
    if (lexer_.Accept("[")) {
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("%"));
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("cd"));
      OCANNL_RETURN_IF_ERROR(Sequence(depth + 1, statements));
      return TakeClosing(lexer_, "`;`", "]");
    }
    if (lexer_.Accept("Asgns.Noop")) return absl::OkStatus();
    if (AtLet(lexer_)) return Let(depth, statements);
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
    if (lexer_.Accept("{")) return Declaration(statements);
    OCANNL_ASSIGN_OR_RETURN(
        Token target, TakeName(lexer_, "a statement, such as `p =- 0.1 *. g`"));
    if (std::optional<CodeStatement> code = CodeOf(target)) {
      statements.push_back(*std::move(code));
      return absl::OkStatus();
    }
    const auto code = code_.find(target.text);
    if (code == code_.end()) return Assignment(target, false, statements);
    if (IsNext(lexer_, "~")) {
      return lexer_.Error("`", target.text, "` is code of the names that it ",
                          "says; write its name alone");
    }
    if (++repeats_ > kMaxRepeats) {
      return lexer_.ErrorAt(target, "code is repeated more than ", kMaxRepeats,
                            " times; write a part of it as code of its own");
    }
    Lexer after = std::exchange(lexer_, code->second);
    ++open_lets_;
    OCANNL_RETURN_IF_ERROR(Sequence(depth + 1, statements));
    --open_lets_;
    lexer_ = std::move(after);
    return absl::OkStatus();
  }

  // { x } =: e, { x: f64; o=[3] } =: e, { x } like y
  absl::Status Declaration(std::vector<Statement>& statements) {
    OCANNL_ASSIGN_OR_RETURN(const Token target,
                            TakeName(lexer_, "the name of an array"));
    ShapeSpec rows;
    std::optional<DType> dtype;
    OCANNL_RETURN_IF_ERROR(TakeDeclaredShape(lexer_, names_, rows, dtype));
    if (IsNext(lexer_, "=")) {
      return lexer_.Error("the value stands behind the braces; write { ",
                          target.text, " } =: ...");
    }
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("}"));
    if (lexer_.Accept("like")) {
      if (!dtype && rows.rows == ShapeSpec().rows) {
        return Like(target, statements);
      }
      return lexer_.ErrorAt(target, "an array has the dtype and the rows of ",
                            "what it is like; write { ", target.text,
                            " } like, or { ", target.text, "; o=[3] } =: 0");
    }
    OCANNL_RETURN_IF_ERROR(Assignment(target, true, statements));
    auto& assign = std::get<AssignStatement>(statements.back());
    assign.rows = std::move(rows);
    assign.dtype = dtype;
    return absl::OkStatus();
  }

  absl::Status Let(int depth, std::vector<Statement>& statements) {
    Lexer ahead = lexer_;
    ahead.Next();
    if (ahead.Accept("%") && ahead.Accept("cd")) {
      lexer_ = std::move(ahead);
      return LetCode(depth, statements);
    }
    const size_t begin = lexer_.peek().offset;
    OCANNL_ASSIGN_OR_RETURN(const LetHead head, TakeLet(lexer_));
    const size_t value = lexer_.peek().offset;
    ++open_lets_;
    OCANNL_RETURN_IF_ERROR(SkipValue());
    --open_lets_;
    const size_t value_end = lexer_.peek().offset;
    if (value == value_end) return lexer_.ExpectedError("an expression");
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("in"));
    const size_t end = lexer_.peek().offset;
    if (!head.arguments.empty() ||
        IsOfNumbers(text_.substr(value, value_end - value), names_)) {
      lets_.Push(begin, end);
      OCANNL_RETURN_IF_ERROR(Sequence(depth + 1, statements));
      lets_.Pop();
      return absl::OkStatus();
    }
    auto let = std::make_unique<LetStatement>();
    let->value = {.target = std::string(head.name.text),
                  .declares = true,
                  .accum = std::nullopt,
                  .reset = false,
                  .value = "",
                  .value_offset = 0,
                  .logic = std::nullopt,
                  .of_operation = false,
                  .offset = head.name.offset};
    lets_.SetValue(text_, value, value_end, let->value);
    OCANNL_RETURN_IF_ERROR(Sequence(depth + 1, let->body));
    statements.push_back(std::move(let));
    return absl::OkStatus();
  }

  // Behind let%cd: step ~p = s in step, where `in` and what follows may be left
  // out.
  absl::Status LetCode(int depth, std::vector<Statement>& statements) {
    OCANNL_ASSIGN_OR_RETURN(const Token name,
                            TakeName(lexer_, "a name behind `let%cd`"));
    OCANNL_RETURN_IF_ERROR(SkipParameters(lexer_, "="));
    const Lexer body = lexer_;
    std::vector<Statement> code;
    ++open_lets_;
    OCANNL_RETURN_IF_ERROR(Sequence(depth + 1, code));
    --open_lets_;
    const bool has_in = lexer_.Accept("in");
    if (!has_in || AtEnd()) {
      absl::c_move(code, std::back_inserter(statements));
      return absl::OkStatus();
    }
    if (!code_.emplace(name.text, body).second) {
      return lexer_.ErrorAt(name, "there is code `", name.text,
                            "` already; give this another name");
    }
    return Sequence(depth + 1, statements);
  }

  absl::Status Like(const Token& target, std::vector<Statement>& statements) {
    OCANNL_ASSIGN_OR_RETURN(Token of, TakeName(lexer_, "the name of an array"));
    statements.push_back(LikeStatement{.target = std::string(target.text),
                                       .of = std::string(of.text),
                                       .offset = target.offset,
                                       .of_offset = of.offset});
    return absl::OkStatus();
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
    OCANNL_ASSIGN_OR_RETURN(bool chosen, TakeCondition(lexer_, names_));
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
    AssignStatement statement{.target = std::string(target.text),
                              .declares = declares,
                              .accum = assign->accum,
                              .reset = assign->reset,
                              .value = "",
                              .value_offset = 0,
                              .logic = std::move(logic),
                              .of_operation = of_operation,
                              .offset = target.offset};
    lets_.SetValue(text_, begin, end, statement);
    statements.push_back(std::move(statement));
    return absl::OkStatus();
  }

  // Whether next is ~logic:"..." or ~projections, which end a value; ~label is
  // an argument in it.
  static bool AtLogic(Lexer lexer) {
    return lexer.Accept("~") &&
           (lexer.Accept("logic") || lexer.Accept("projections"));
  }

  // Takes what comes before `;`, `else`, `~logic`, a bracket that it does not
  // open, or the `in` of a let that it does not open.
  absl::Status SkipValue() {
    int own_lets = 0;
    SkipUntil(lexer_, [&](const Lexer& at, int depth) {
      const Token& next = at.peek();
      if (AtLet(at)) ++own_lets;
      if (open_lets_ > 0 && AtIn(at) && own_lets-- == 0) return true;
      const bool ends = IsNext(at, ";") || AtLogic(at) ||
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
  int repeats_ = 0;                    // of code that has a name
  int open_lets_ = 0;                  // whose `in` is still to come
  LetTexts lets_;
  absl::flat_hash_map<std::string, Lexer> code_;  // let%cd: where it starts
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
