// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/parse.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/array.h"
#include "ocannl/core/notation/declaration.h"
#include "ocannl/core/notation/function.h"
#include "ocannl/core/notation/habits.h"
#include "ocannl/core/notation/let.h"
#include "ocannl/core/notation/number.h"
#include "ocannl/core/notation/operators.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/notation/size_rules.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/leaf.h"

namespace ocannl {
namespace {

// Deep enough for any expression worth writing, shallow enough for any stack.
constexpr int kMaxDepth = 200;
// What takes a second to compile: more is no text that anyone wrote.
constexpr int kMaxOperations = 10'000;

class Parser {
 public:
  Parser(Graph& graph, absl::string_view text, const Names& names,
         SourceLocation where)
      : graph_(graph),
        scope_(graph, names),
        where_(where),
        lexer_(text, NotationSymbols()),
        parameters_(graph, where) {}

  absl::StatusOr<ParsedTensor> Parse() {
    while (AtLet(lexer_)) OCANNL_RETURN_IF_ERROR(Define());
    OCANNL_ASSIGN_OR_RETURN(Tensor tensor, Expression(1, 0));
    if (lexer_.peek().kind != Token::kEnd) {
      return Unexpected(lexer_, "an operator or the end of the text");
    }
    return ParsedTensor{.tensor = tensor, .parameters = parameters_.list()};
  }

 private:
  // What the graph made of something, maybe of an operator, or its error.
  absl::StatusOr<Tensor> Checked(Tensor tensor, size_t offset,
                                 absl::string_view symbol = "") const {
    if (!scope_.is_trial()) {
      OCANNL_RETURN_IF_ERROR(CheckNoError(lexer_, offset, tensor, symbol));
    }
    return tensor;
  }

  // let y = ... in, or let f x = ... in.
  absl::Status Define() {
    OCANNL_ASSIGN_OR_RETURN(LetHead head, TakeLet(lexer_));
    const std::string name(head.name.text);
    if (scope_.FindGiven(name) || FindFunction(name) != nullptr ||
        functions_.Find(name)) {
      return lexer_.ErrorAt(head.name.offset, "there is a `", name,
                            "` already; take another name");
    }
    if (head.arguments.empty()) {
      const int32_t first = graph_.size();
      OCANNL_ASSIGN_OR_RETURN(Tensor value, Expression(1, 0));
      OCANNL_ASSIGN_OR_RETURN(
          value, Checked(NamedAnew(value, first, name), head.name.offset));
      scope_.Declare(name, value);
    } else {
      const Lexer body = lexer_;
      OCANNL_ASSIGN_OR_RETURN(lexer_, TryBody(head.arguments));
      functions_.Add({name, std::move(head.arguments), body});
    }
    return TakeClosing(lexer_, "an operator", "in");
  }

  // Where a body ends. Errors: those that do not depend on what it is called
  // with, which are told where nothing calls it, too: all but the graph's.
  absl::StatusOr<Lexer> TryBody(const std::vector<std::string>& names) const {
    const Graph::Mark before = graph_.mark();
    Parser trial = *this;
    trial.scope_.StartTrial(names, AnyTensor());
    const absl::Status status = trial.Expression(1, 0).status();
    graph_.RollBack(before);
    if (!status.ok()) return status;
    return trial.lexer_;
  }
  Tensor AnyTensor() const { return ocannl::Number(graph_, 1, where_); }

  // The body of a function for what stands behind its name: f(a, b) or f a b.
  absl::StatusOr<Tensor> Expand(size_t function, const Token& name, int depth) {
    const TensorFunction called = functions_[function];
    OCANNL_ASSIGN_OR_RETURN(Arguments args, TakeArguments(called, name, depth));
    OCANNL_RETURN_IF_ERROR(CountOperation(name.offset));
    if (scope_.is_trial()) return AnyTensor();
    const int32_t first = graph_.size();
    const std::string label = called.Label(args);
    Lexer after = std::exchange(lexer_, called.body);
    Arguments outer = scope_.SetArguments(std::move(args));
    const size_t known = functions_.SetKnown(function);
    absl::StatusOr<Tensor> value = Expression(1, depth + 1);
    if (value.ok() && !AtIn(lexer_)) {
      value = Unexpected(lexer_, "an operator or `in`");
    }
    functions_.SetKnown(known);
    scope_.SetArguments(std::move(outer));
    lexer_ = std::move(after);
    if (!value.ok()) return value;
    return Checked(NamedAnew(*value, first, label), name.offset);
  }

  // (a, b) or a b: what is given to `called`, whose name is at `name`.
  absl::StatusOr<Arguments> TakeArguments(const TensorFunction& called,
                                          const Token& name, int depth) {
    const size_t count = called.arguments.size();
    Arguments args;
    if (lexer_.Accept("(")) {
      do {
        OCANNL_ASSIGN_OR_RETURN(Tensor arg, Expression(1, depth + 1));
        if (args.size() == count) {
          return lexer_.ErrorAt(name, called.Usage());
        }
        args.emplace_back(called.arguments[args.size()], arg);
      } while (lexer_.Accept(","));
      if (!lexer_.Accept(")")) {
        return Unexpected(lexer_, "an operator, `,` or `)`");
      }
    }
    while (args.size() < count) {
      if (!AtOperand(lexer_, scope_)) {
        return lexer_.ErrorAt(name, called.Usage());
      }
      OCANNL_ASSIGN_OR_RETURN(Tensor arg, Operand(depth + 1));
      args.emplace_back(called.arguments[args.size()], arg);
    }
    return args;
  }

  absl::Status CountOperation(size_t offset) {
    if (++operations_ <= kMaxOperations) return absl::OkStatus();
    return lexer_.ErrorAt(offset, "the expression has more than ",
                          kMaxOperations,
                          " operations; make a part of it a tensor of its "
                          "own");
  }

  // Precedence climbing: operators of at least `precedence` and their operands.
  absl::StatusOr<Tensor> Expression(int precedence, int depth) {
    const Token first = lexer_.peek();
    OCANNL_ASSIGN_OR_RETURN(Tensor left, Operand(depth));
    while (lexer_.peek().kind == Token::kSymbol) {
      const InfixOperator* infix = FindInfix(lexer_.peek().text);
      if (infix == nullptr || infix->precedence < precedence) break;
      if (infix->op == Op::kPow && first.text == "-") {
        const size_t power = lexer_.Next().offset;
        OCANNL_RETURN_IF_ERROR(
            Expression(infix->precedence, depth + 1).status());
        return SignOfPower(lexer_, first.offset, infix->symbol, power);
      }
      OCANNL_ASSIGN_OR_RETURN(left, Infix(*infix, left, depth));
    }
    return left;
  }

  // An operator and what stands to its right.
  absl::StatusOr<Tensor> Infix(const InfixOperator& infix, Tensor left,
                               int depth) {
    const size_t offset = lexer_.Next().offset;
    OCANNL_RETURN_IF_ERROR(CountOperation(offset));
    std::vector<Arg> args = {Arg(left, where_)};
    if (infix.form == InfixOperator::kSlice) {
      OCANNL_ASSIGN_OR_RETURN(int32_t index, scope_.TakeStatic(lexer_));
      return Checked(Slice(args[0], index), offset);
    }
    const EinsumNumbers& numbers = scope_.names().numbers;
    absl::string_view spec;
    std::optional<Lexer> sizes;  // stands where they start
    size_t operands = infix.form == InfixOperator::kReduceOne ? 1 : 2;
    if (infix.accum) {
      OCANNL_ASSIGN_OR_RETURN(spec, TakeSpec(lexer_, infix, numbers, operands));
      sizes = lexer_;
      OCANNL_RETURN_IF_ERROR(
          TakeSizeRules(lexer_, scope_, std::nullopt, where_));
    }
    while (args.size() < operands) {
      int precedence = infix.precedence + (infix.right_associative() ? 0 : 1);
      OCANNL_ASSIGN_OR_RETURN(Tensor right, Expression(precedence, depth + 1));
      args.emplace_back(right, where_);
    }
    const Tensor made = ApplyInfix(infix, spec, std::move(args), numbers);
    OCANNL_ASSIGN_OR_RETURN(Tensor result, Checked(made, offset, infix.symbol));
    if (sizes && !scope_.is_trial()) {
      OCANNL_RETURN_IF_ERROR(TakeSizeRules(*sizes, scope_, result, where_));
    }
    return result;
  }

  absl::StatusOr<Tensor> Operand(int depth) {
    if (depth > kMaxDepth) {
      return lexer_.Error(
          "the expression is nested too deeply; make a part of it a tensor of "
          "its own");
    }
    const size_t offset = lexer_.peek().offset;
    if (!lexer_.Accept("-")) return Primary(depth);
    if (lexer_.peek().kind == Token::kNumber) {
      return TakeNumber(lexer_, "-", offset, graph_, where_);
    }
    OCANNL_ASSIGN_OR_RETURN(Tensor operand, Operand(depth + 1));
    return Checked(Neg(Arg(operand, where_)), offset);
  }

  absl::StatusOr<Tensor> Primary(int depth) {
    const Token token = lexer_.peek();
    if (token.kind == Token::kNumber) {
      return TakeNumber(lexer_, "", token.offset, graph_, where_);
    }
    if (token.kind == Token::kName) return NamedOperand(depth);
    if (!AtOperand(lexer_, scope_)) return Unexpected(lexer_, "an operand");
    if (AtArray(lexer_)) {
      OCANNL_ASSIGN_OR_RETURN(ArrayText array, ParseArray(lexer_));
      return Literal(graph_, array.shape, array.values, array.digits, where_);
    }
    lexer_.Next();
    if (token.kind == Token::kString) {
      return Checked(scope_.Placeholder(token.text, where_), token.offset);
    }
    if (token.text == "(") {
      OCANNL_ASSIGN_OR_RETURN(Tensor tensor, Expression(1, depth + 1));
      if (lexer_.Accept(")")) return tensor;
      return Unexpected(lexer_, "an operator or `)`");
    }
    if (token.text == "{") return Parameter(depth);
    if (token.text == "!@") {
      OCANNL_ASSIGN_OR_RETURN(int32_t index, scope_.TakeStatic(lexer_));
      return EmbedSymbol(graph_, index, where_);
    }
    bool whole = token.text == "!..";
    OCANNL_ASSIGN_OR_RETURN(double value,
                            TakeNamedNumber(lexer_, scope_.names(), whole));
    return ocannl::Number(graph_, value, where_);
  }

  // A tensor's name, or a function and its arguments.
  absl::StatusOr<Tensor> NamedOperand(int depth) {
    if (auto tensor = scope_.FindGiven(lexer_.peek().text)) {
      lexer_.Next();
      return *tensor;
    }
    if (lexer_.peek().text == "inf" || lexer_.peek().text == "nan") {
      return TakeNumber(lexer_, "", lexer_.peek().offset, graph_, where_);
    }
    const Token name = lexer_.Next();
    if (std::optional<size_t> function = functions_.Find(name.text)) {
      return Expand(*function, name, depth);
    }
    if (const Function* function = FindFunction(name.text)) {
      return Call(*function, name.offset, depth);
    }
    if (auto tensor = scope_.FindInGraph(name.text)) return *tensor;
    return scope_.Unknown(lexer_, name, AtOperand(lexer_, scope_));
  }

  absl::StatusOr<Tensor> Call(const Function& function, size_t offset,
                              int depth) {
    FunctionCall call = {.graph = &graph_,
                         .spec = "",
                         .args = {},
                         .parameter = initialised_,
                         .where = where_};
    if (lexer_.Accept("(")) {
      if (lexer_.peek().kind == Token::kString) {
        call.spec = std::string(lexer_.Next().text);
      } else if (function.takes_spec()) {
        return lexer_.ErrorAt(offset,
                              CallFunction(function, call).status().message());
      }
      while (!lexer_.Accept(")")) {
        const bool first = call.args.empty() && call.spec.empty();
        if (!first && !lexer_.Accept(",")) {
          return Unexpected(lexer_, "an operator, `,` or `)`");
        }
        OCANNL_ASSIGN_OR_RETURN(Tensor arg, Expression(1, depth + 1));
        call.args.emplace_back(arg, where_);
      }
    } else if (AtOperand(lexer_, scope_)) {
      OCANNL_ASSIGN_OR_RETURN(Tensor arg, Operand(depth + 1));
      call.args.emplace_back(arg, where_);
    }
    if (scope_.is_trial() && TakesSoMany(function, call)) return AnyTensor();
    absl::StatusOr<Tensor> result = CallFunction(function, call);
    if (result.ok()) return Checked(*result, offset);
    return lexer_.ErrorAt(offset, result.status().message());
  }

  absl::StatusOr<Tensor> Parameter(int depth) {
    OCANNL_ASSIGN_OR_RETURN(Declaration declaration,
                            ParseDeclaration(lexer_, scope_.names()));
    // Reads the first value where it stands, further left.
    auto first_value = [&](Tensor parameter) {
      Lexer after = std::exchange(lexer_, *declaration.init);
      std::optional<Tensor> outer = std::exchange(initialised_, parameter);
      absl::StatusOr<Tensor> value = Expression(1, depth + 1);
      if (value.ok() && !IsNext(lexer_, ";") && !IsNext(lexer_, "}")) {
        value = Unexpected(lexer_, "an operator, `;` or `}`");
      }
      lexer_ = std::move(after);
      initialised_ = outer;
      return value;
    };
    return parameters_.Declare(lexer_, scope_, declaration, first_value);
  }

  Graph& graph_;
  Scope scope_;
  SourceLocation where_;
  Lexer lexer_;
  ParameterTable parameters_;
  TensorFunctions functions_;
  int operations_ = 0;
  std::optional<Tensor> initialised_;  // whose first value is being read
};

}  // namespace

absl::StatusOr<ParsedTensor> ParseTensor(Graph& graph, absl::string_view text,
                                         const Names& names,
                                         SourceLocation where) {
  for (const auto& [name, tensor] : names.tensors) {
    if (tensor.graph == &graph) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the name `", name, "` stands for ", Describe(tensor.node()),
        ", a tensor of another graph; make that in the graph of the text"));
  }
  // Also names and random keys that a wrong text takes would be lost.
  const Graph::Mark before = graph.mark();
  absl::StatusOr<ParsedTensor> parsed =
      Parser(graph, text, names, where).Parse();
  if (!parsed.ok()) graph.RollBack(before);
  return parsed;
}

}  // namespace ocannl
