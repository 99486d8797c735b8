// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/graph/code.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/operators.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/notation/statements/statement_parts.h"
#include "ocannl/core/notation/statements/statements.h"
#include "ocannl/core/tensor/memory_mode.h"
#include "ocannl/train/graph/code_repeat.h"
#include "ocannl/train/graph/code_scope.h"
#include "ocannl/train/graph/value.h"
#include "ocannl/train/graph/value_writer.h"

namespace ocannl::train {
namespace {

// On one line, and without the end of a comment.
std::string CommentText(absl::Span<const std::string> words) {
  std::string text = absl::StrReplaceAll(absl::StrJoin(words, " "),
                                         {{"*/", "* /"}, {"\n", " "}});
  absl::RemoveExtraAsciiWhitespace(&text);
  return text;
}

// Whether a node without a name may have this one: n35, n39_relu.
bool LooksAutomatic(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "n")) return false;
  const size_t end = name.find_first_not_of("0123456789");
  return end != 0 && !name.empty() &&
         (end == absl::string_view::npos || name[end] == '_');
}

// Writes the code of statements.
class CodeWriter {
 public:
  CodeWriter(Model& model, absl::string_view text, const Names& names,
             SourceLocation where)
      : model_(model),
        scope_(model, text, names),
        values_(text, where, scope_, written_) {}

  absl::Status Write(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      OCANNL_RETURN_IF_ERROR(std::visit(
          Overload{
              [&](const AssignStatement& s) { return WriteAssign(s); },
              [&](const LikeStatement& s) { return WriteLike(s); },
              [&](const CodeStatement& s) { return WriteCode(s); },
              [&](const std::unique_ptr<BlockStatement>& s) {
                return WriteBlock(*s);
              },
              [&](const std::unique_ptr<LetStatement>& s) {
                return WriteLet(*s);
              },
              [&](const std::unique_ptr<ForStatement>& s) {
                BodyRepeater repeater(model_, scope_, written_);
                return scope_.ForEach(*s, [&](Tensor of) {
                  return repeater.Write(of, [&] { return Write(s->body); });
                });
              },
          },
          statement));
    }
    return absl::OkStatus();
  }

  // The code; its states become the model's.
  UpdateCode Finish() && {
    for (auto& [name, state] : written_.states) {
      model_.states.insert_or_assign(name, std::move(state));
    }
    code_.update.name = RoutineName(code_.update);
    code_.init.name = absl::StrCat(code_.update.name, "_init");
    return std::move(code_);
  }

 private:
  absl::Status WriteBlock(const BlockStatement& block) {
    std::vector<std::string> words;
    for (const std::string& word : block.words) {
      std::optional<Tensor> tensor = scope_.FindTensor(word);
      words.push_back(tensor ? tensor->node().name : word);
    }
    code_.update.list.push_back(BlockComment{CommentText(words)});
    if (block.tensors.empty()) return Write(block.body);
    return scope_.Of(block.tensors[0], [&] { return Write(block.body); });
  }

  absl::Status WriteCode(const CodeStatement& statement) {
    written_.is_regular = false;
    std::optional<Tensor> tensor = scope_.FindTensor(statement.tensor);
    if (!tensor) return scope_.Unknown(statement.tensor, statement.offset);
    if (statement.part == CodeStatement::kForward) {
      OCANNL_ASSIGN_OR_RETURN(Assignments forward, Forward(model_, *tensor));
      Append(code_.update, std::move(forward));
      return absl::OkStatus();
    }
    auto [backward, is_new] = backward_.try_emplace(tensor->id);
    if (is_new) {
      OCANNL_RETURN_IF_ERROR(CheckStep(model_, *tensor));
      OCANNL_RETURN_IF_ERROR(
          InferShapes(model_.graph, {tensor->id}, model_.shapes));
      OCANNL_ASSIGN_OR_RETURN(backward->second,
                              Backward(model_.graph, model_.shapes, tensor->id,
                                       model_.computed_by));
    }
    Append(code_.update, statement.part == CodeStatement::kZeroGrads
                             ? backward->second.zero_grads
                             : backward->second.backprop);
    return absl::OkStatus();
  }

  absl::Status NameTakenError(size_t offset, absl::string_view name,
                              absl::string_view fix) const {
    return scope_.ErrorAt(
        offset, absl::StrCat("there is an array `", name, "` already; ", fix));
  }

  // A name for an array that the statement at `offset` declares as `target`.
  absl::StatusOr<std::string> NewName(absl::string_view target, size_t offset) {
    std::string name = absl::StrCat(target, scope_.suffix());
    if (!scope_.IsTaken(name)) {
      // Nodes without a name are n35 and n39_relu.
      if (LooksAutomatic(name)) name = model_.graph.Reserve(name);
      return written_.declared.emplace_back(name);
    }
    return NameTakenError(offset, name, "give it another name");
  }

  // Makes `array` one that keeps its value from run to run, zeros at first.
  void MakeState(const Shape& shape, Array& array) {
    array.memory = {MemoryMode::kOnDevice, "reads its value of the last run"};
    const int32_t state = code_.init.AddArray(array);
    const Expr zero = Literal(code_.init.exprs, array.dtype, 0);
    AssignPointwise(code_.init, state, std::nullopt, zero.id(), {});
    written_.states.emplace(array.name, CodeState{array, shape});
  }

  absl::Status WriteLike(const LikeStatement& statement) {
    OCANNL_ASSIGN_OR_RETURN(
        std::optional<Tensor> of,
        scope_.Find(statement.of, statement.of_offset, code_.update));
    if (!of) return scope_.Unknown(statement.of, statement.of_offset);
    OCANNL_ASSIGN_OR_RETURN(
        std::optional<Tensor> known,
        scope_.Find(statement.target, statement.offset, code_.update));
    if (known) {
      return NameTakenError(statement.offset, statement.target,
                            "give the new one another name");
    }
    OCANNL_ASSIGN_OR_RETURN(std::string name,
                            NewName(statement.target, statement.offset));
    const Shape shape = scope_.shapes().at(of->id);
    Array array{.name = std::move(name),
                .dtype = of->node().dtype,
                .dims = shape.dims()};
    MakeState(shape, array);
    scope_.Add(statement.target, shape, std::move(array));
    return absl::OkStatus();
  }

  // Makes what `value` names visible. Returns whether it names `target`.
  absl::StatusOr<bool> NameOperands(const AssignStatement& statement) {
    bool reads_target = false;
    Lexer lexer(statement.value, NotationSymbols());
    while (lexer.peek().kind != Token::kEnd) {
      const Token token = lexer.Next();
      if (token.kind != Token::kName) continue;
      reads_target |= token.text == statement.target;
      OCANNL_RETURN_IF_ERROR(scope_
                                 .Find(token.text,
                                       statement.value_offset + token.offset,
                                       code_.update)
                                 .status());
    }
    return reads_target;
  }

  absl::Status WriteAssign(const AssignStatement& statement) {
    OCANNL_ASSIGN_OR_RETURN(
        std::optional<Tensor> target,
        scope_.Find(statement.target, statement.offset, code_.update));
    if (absl::EndsWith(statement.target, kMergeSuffix)) {
      return scope_.ErrorAt(
          statement.offset,
          absl::StrCat("`", statement.target, "` is what the merge ",
                       "buffer holds, which code may only read"));
    }
    if (statement.of_operation) {
      return scope_.ErrorAt(
          statement.offset,
          "~projections are those of an operation, in whose definition they "
          "stand; leave them out, or write ~logic:\".\" or a spec");
    }
    if (statement.declares && target) {
      return NameTakenError(statement.offset, statement.target,
                            "write it without braces or quotes");
    }
    if (!statement.declares && !target) {
      return scope_.Unknown(statement.target, statement.offset);
    }
    const bool is_power = statement.accum == Op::kPow && !statement.reset;
    if (is_power && !statement.declares && !statement.logic &&
        IsOfNumbers(statement.value, scope_.visible())) {
      // By products where the number is small and whole, as of x ** n.
      AssignStatement power = statement;
      power.accum = std::nullopt;
      power.value =
          absl::StrCat(statement.target, " ** (", statement.value, ")");
      return WriteAssign(power);
    }
    OCANNL_ASSIGN_OR_RETURN(bool reads_target, NameOperands(statement));
    if (statement.declares) {
      OCANNL_ASSIGN_OR_RETURN(target, Declare(statement, reads_target));
    }
    return scope_.WithNodes(
        /*final=*/true, [&] { return values_.Store(statement, target->id); });
  }

  // let x = e in body: what x was before, it is behind the body.
  absl::Status WriteLet(const LetStatement& let) {
    const std::string& name = let.value.target;
    std::optional<Tensor> outer;
    auto& visible = scope_.visible().tensors;
    OCANNL_ASSIGN_OR_RETURN(bool reads_itself, NameOperands(let.value));
    if (const auto known = visible.find(name); known != visible.end()) {
      outer = known->second;
    }
    if (reads_itself && !outer) {
      return scope_.Unknown(name, let.value.offset);
    }
    Array array{.name = LetName(name), .dtype = DType::kF32, .dims = {}};
    OCANNL_ASSIGN_OR_RETURN(const Shape shape, InferValue(let.value, array));
    AssignStatement value = let.value;
    // Under a name that no text has, until its value is stored.
    value.target = absl::StrCat(name, " of let");
    const Tensor leaf = scope_.Add(value.target, shape, std::move(array));
    OCANNL_RETURN_IF_ERROR(scope_.WithNodes(
        /*final=*/true, [&] { return values_.Store(value, leaf.id); }));
    visible.erase(value.target);
    visible.insert_or_assign(name, leaf);
    OCANNL_RETURN_IF_ERROR(Write(let.body));
    visible.erase(name);
    if (outer) visible.emplace(name, *outer);
    return absl::OkStatus();
  }

  // A new name for the array of a let.
  std::string LetName(const std::string& name) {
    std::string free;
    do {
      free = model_.graph.Reserve(absl::StrCat(name, scope_.suffix(), ".let"));
    } while (scope_.IsTaken(free));
    return written_.declared.emplace_back(std::move(free));
  }

  // Adds the array that a statement declares: with the shape of its value, in
  // which it is a number.
  absl::StatusOr<Tensor> Declare(const AssignStatement& statement,
                                 bool reads_target) {
    Array array{.name = "", .dtype = DType::kF32, .dims = {}};
    OCANNL_ASSIGN_OR_RETURN(array.name,
                            NewName(statement.target, statement.offset));
    if (reads_target) {
      scope_.visible().tensors.emplace(statement.target,
                                       Number(scope_.graph(), 0));
    }
    absl::StatusOr<Shape> shape = InferValue(statement, array);
    if (reads_target) scope_.visible().tensors.erase(statement.target);
    OCANNL_RETURN_IF_ERROR(shape.status());
    if (reads_target) MakeState(*shape, array);
    return scope_.Add(statement.target, *shape, std::move(array));
  }

  // The shape of the array for the statement's value, where its rows do not say
  // another one; sets its dims and dtype.
  absl::StatusOr<Shape> InferValue(const AssignStatement& statement,
                                   Array& array) {
    Shape shape;
    auto infer = [&]() -> absl::Status {
      Graph& graph = scope_.graph();
      OCANNL_ASSIGN_OR_RETURN(
          TensorId value,
          values_.Value(statement, scope_.visible(), std::nullopt));
      OCANNL_RETURN_IF_ERROR(Located(
          scope_, statement, InferShapes(graph, {value}, scope_.shapes())));
      shape = DeclaredShape(graph, scope_.shapes().at(value), value);
      array.dtype = statement.dtype.value_or(graph[value].dtype);
      return absl::OkStatus();
    };
    OCANNL_RETURN_IF_ERROR(scope_.WithNodes(/*final=*/false, infer));
    const bool is_said = statement.rows.rows != ShapeSpec().rows;
    for (RowKind kind : kRowKinds) {
      const std::optional<Dims>& row = statement.rows[kind];
      if (is_said) shape[kind] = row.value_or(Dims());
    }
    array.dims = shape.dims();
    return shape;
  }

  Model& model_;
  CodeScope scope_;
  absl::flat_hash_map<TensorId, BackwardCode> backward_;
  WrittenCode written_;
  UpdateCode& code_ = written_.code;
  ValueWriter values_;
};

}  // namespace

absl::StatusOr<UpdateCode> ParseCode(Model& model, absl::string_view text,
                                     const Names& names, SourceLocation where) {
  OCANNL_ASSIGN_OR_RETURN(std::vector<Statement> statements,
                          ParseStatements(text, names));
  for (const auto& [name, tensor] : names.tensors) {
    OCANNL_RETURN_IF_ERROR(CheckIsIn(model, tensor));
  }
  ComputedBy before = model.computed_by;
  CodeWriter writer(model, text, names, where);
  absl::Status status = writer.Write(statements);
  if (!status.ok()) {
    model.computed_by = std::move(before);
    return status;
  }
  return std::move(writer).Finish();
}

}  // namespace ocannl::train
