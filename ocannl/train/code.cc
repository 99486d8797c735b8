// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/code.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/operators.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/notation/statements.h"
#include "ocannl/core/tensor/memory_mode.h"
#include "ocannl/train/value.h"

namespace ocannl::train {
namespace {

// Values are expressions of a graph of their own, in which the arrays of the
// model are leaves with the arrays' names and shapes.
class CodeWriter {
 public:
  CodeWriter(Model& model, absl::string_view text, const Names& names)
      : model_(model), text_(text), names_(names) {
    for (const StaticSymbol& index : model.graph.statics()) {
      graph_.AddStatic(index.name, index.range);
    }
    visible_.statics = names.statics;
    visible_.numbers = names.numbers;
  }

  absl::Status Write(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      OCANNL_RETURN_IF_ERROR(std::visit(
          Overload{
              [&](const AssignStatement& s) { return WriteAssign(s); },
              [&](const CodeStatement& s) { return WriteCode(s); },
              [&](const std::unique_ptr<BlockStatement>& s) {
                return WriteBlock(*s);
              },
          },
          statement));
    }
    return absl::OkStatus();
  }

  UpdateCode&& code() && { return std::move(code_); }

 private:
  absl::Status ErrorAt(size_t offset, absl::string_view message) const {
    return StatementError(text_, offset, message);
  }

  std::optional<Tensor> FindTensor(absl::string_view name) {
    auto given = names_.tensors.find(name);
    if (given != names_.tensors.end()) return given->second;
    std::optional<TensorId> id = model_.graph.Find(name);
    if (!id || !model_.graph[*id].named) return std::nullopt;
    return Tensor{&model_.graph, *id};
  }

  absl::Status WriteBlock(const BlockStatement& block) {
    std::vector<std::string> words;
    for (const std::string& word : block.words) {
      std::optional<Tensor> tensor = FindTensor(word);
      words.push_back(tensor ? tensor->node().name : word);
    }
    code_.update.list.push_back(BlockComment{absl::StrJoin(words, " ")});
    std::string outer = suffix_;
    if (!block.tensors.empty()) {
      std::optional<Tensor> tensor = FindTensor(block.tensors[0]);
      suffix_ =
          absl::StrCat("_", tensor ? tensor->node().name : block.tensors[0]);
    }
    OCANNL_RETURN_IF_ERROR(Write(block.body));
    suffix_ = std::move(outer);
    return absl::OkStatus();
  }

  absl::Status WriteCode(const CodeStatement& statement) {
    std::optional<Tensor> tensor = FindTensor(statement.tensor);
    if (!tensor) return Unknown(statement.tensor, statement.offset);
    if (statement.part == CodeStatement::kForward) {
      OCANNL_ASSIGN_OR_RETURN(Assignments forward, Forward(model_, *tensor));
      Append(code_.update, forward);
      return absl::OkStatus();
    }
    auto [backward, is_new] = backward_.try_emplace(tensor->id);
    if (is_new) {
      OCANNL_RETURN_IF_ERROR(
          InferShapes(model_.graph, {tensor->id}, model_.shapes));
      OCANNL_ASSIGN_OR_RETURN(
          backward->second,
          Backward(model_.graph, model_.shapes, tensor->id, model_.rootness));
    }
    Append(code_.update, statement.part == CodeStatement::kZeroGrads
                             ? backward->second.zero_grads
                             : backward->second.backprop);
    return absl::OkStatus();
  }

  absl::Status Unknown(absl::string_view name, size_t offset) const {
    return ErrorAt(offset, absl::StrCat("no tensor `", name,
                                        "`; put it into the names, or declare "
                                        "it: { ",
                                        name, " } =: ..."));
  }

  absl::Status IsThere(const AssignStatement& statement, absl::string_view name,
                       absl::string_view fix) const {
    return ErrorAt(statement.offset, absl::StrCat("there is an array `", name,
                                                  "` already; ", fix));
  }

  // The leaf of the array that `name` is, if it is one.
  absl::StatusOr<std::optional<Tensor>> FindArray(const std::string& name,
                                                  size_t offset) {
    auto known = visible_.tensors.find(name);
    if (known != visible_.tensors.end()) return known->second;
    absl::string_view of = name;
    if (absl::ConsumeSuffix(&of, kMergeSuffix)) {
      return FindMerge(name, std::string(of), offset);
    }
    OCANNL_ASSIGN_OR_RETURN(std::optional<ModelArray> found,
                            FindInModel(name, offset));
    if (!found) return std::nullopt;
    if (!found->is_gradient) OCANNL_RETURN_IF_ERROR(Compute(found->of));
    return AddLeaf(name, found->shape, std::move(found->array));
  }

  // The leaf of what the merge buffer holds of the array that `of` is.
  absl::StatusOr<std::optional<Tensor>> FindMerge(const std::string& name,
                                                  const std::string& of,
                                                  size_t offset) {
    if (absl::EndsWith(of, kMergeSuffix)) {
      return ErrorAt(offset,
                     absl::StrCat("`", name, "` would be of the merge ",
                                  "buffer's own array; write `", of, "`"));
    }
    auto known = visible_.tensors.find(of);
    if (known != visible_.tensors.end()) {
      const Shape shape = shapes_.at(known->second.id);  // AddLeaf moves them
      return AddLeaf(name, shape,
                     MergeArray(arrays_.at(known->second.node().name)));
    }
    OCANNL_ASSIGN_OR_RETURN(std::optional<ModelArray> found,
                            FindInModel(of, offset));
    if (!found) return Unknown(of, offset);
    return AddLeaf(name, found->shape, MergeArray(found->array));
  }

  // The value of a tensor of the model, or its gradient.
  struct ModelArray {
    Tensor of;
    bool is_gradient;
    Shape shape;
    Array array;
  };
  absl::StatusOr<std::optional<ModelArray>> FindInModel(absl::string_view name,
                                                        size_t offset) {
    const bool is_gradient = absl::ConsumeSuffix(&name, ".grad");
    if (!is_gradient) absl::ConsumeSuffix(&name, ".value");
    std::optional<Tensor> tensor = FindTensor(name);
    if (!tensor) return std::nullopt;
    OCANNL_RETURN_IF_ERROR(
        InferShapes(model_.graph, {tensor->id}, model_.shapes));
    if (is_gradient && !tensor->node().has_gradient) {
      return ErrorAt(offset, absl::StrCat("`", name, "` has no gradient"));
    }
    return ModelArray{.of = *tensor,
                      .is_gradient = is_gradient,
                      .shape = model_.shapes.at(tensor->id),
                      .array = (is_gradient ? GradientArray : ValueArray)(
                          model_.graph, model_.shapes, tensor->id)};
  }

  // Computes `tensor` here if nothing does.
  absl::Status Compute(Tensor tensor) {
    const TensorSource& source = tensor.node().source;
    if (std::holds_alternative<ParamSource>(source) ||
        std::holds_alternative<DataSource>(source) ||
        model_.rootness.forward.contains(tensor.id)) {
      return absl::OkStatus();
    }
    OCANNL_ASSIGN_OR_RETURN(Assignments forward, Forward(model_, tensor));
    Append(code_.update, forward);
    return absl::OkStatus();
  }

  Tensor AddLeaf(const std::string& name, const Shape& shape, Array array) {
    TensorId id = graph_.Add({.source = ParamSource{},
                              .name = array.name,
                              .text = name,
                              .dtype = array.dtype,
                              .spec = {},
                              .has_gradient = false,
                              .where = SourceLocation::Current(),
                              .named = true});
    shapes_[id] = shape;
    arrays_.emplace(graph_[id].name, std::move(array));
    visible_.tensors.insert_or_assign(name, Tensor{&graph_, id});
    return {&graph_, id};
  }

  // Makes what `value` names visible. Returns whether it names `target`.
  absl::StatusOr<bool> NameOperands(const AssignStatement& statement) {
    bool reads_target = false;
    Lexer lexer(statement.value, NotationSymbols());
    while (lexer.peek().kind != Token::kEnd) {
      const Token token = lexer.Next();
      if (token.kind != Token::kName) continue;
      reads_target |= token.text == statement.target;
      OCANNL_RETURN_IF_ERROR(FindArray(std::string(token.text),
                                       statement.value_offset + token.offset)
                                 .status());
    }
    return reads_target;
  }

  absl::Status WriteAssign(const AssignStatement& statement) {
    OCANNL_ASSIGN_OR_RETURN(std::optional<Tensor> target,
                            FindArray(statement.target, statement.offset));
    if (absl::EndsWith(statement.target, kMergeSuffix)) {
      return ErrorAt(statement.offset,
                     absl::StrCat("`", statement.target, "` is what the merge ",
                                  "buffer holds, which code may only read"));
    }
    if (statement.declares && target) {
      return IsThere(statement, statement.target, "write it without braces");
    }
    if (!statement.declares && !target) {
      return Unknown(statement.target, statement.offset);
    }
    OCANNL_ASSIGN_OR_RETURN(bool reads_target, NameOperands(statement));
    if (statement.declares) {
      OCANNL_ASSIGN_OR_RETURN(target, Declare(statement, reads_target));
    }
    return Store(statement, target->id);
  }

  // Adds the array that a statement declares: with the shape of its value, in
  // which it is a number.
  absl::StatusOr<Tensor> Declare(const AssignStatement& statement,
                                 bool reads_target) {
    Graph graph = graph_;
    Names names = visible_;
    for (auto& [name, tensor] : names.tensors) tensor.graph = &graph;
    if (reads_target) {
      names.tensors.emplace(statement.target, Number(graph, 0));
    }
    OCANNL_ASSIGN_OR_RETURN(TensorId value,
                            Value(statement, graph, names, std::nullopt));
    Shapes shapes = shapes_;
    OCANNL_RETURN_IF_ERROR(
        Located(statement, InferShapes(graph, {value}, shapes)));
    const Shape shape = DeclaredShape(graph, shapes.at(value), value);
    Array array{
        .name = absl::StrCat(statement.target, suffix_),
        .dtype = graph[value].dtype,
        .dims = shape.dims(),
    };
    if (reads_target) {
      array.memory = {MemoryMode::kOnDevice, "reads its value of the last run"};
    }
    const bool is_taken = absl::c_any_of(
        arrays_, [&](const auto& a) { return a.second.name == array.name; });
    if (is_taken || model_.graph.Find(array.name) ||
        absl::EndsWith(array.name, kMergeSuffix)) {
      return IsThere(statement, array.name, "give it another name");
    }
    if (reads_target) {
      const int32_t state = code_.init.AddArray(array);
      const Expr zero = Literal(code_.init.exprs, array.dtype, 0);
      AssignPointwise(code_.init, state, std::nullopt, zero.id(), {});
    }
    return AddLeaf(statement.target, shape, std::move(array));
  }

  absl::Status Located(const AssignStatement& statement,
                       absl::Status status) const {
    if (status.ok()) return status;
    return ErrorAt(statement.offset, status.message());
  }

  // A node that computes the statement's value; for the array of the leaf
  // `target`, if it is known.
  absl::StatusOr<TensorId> Value(const AssignStatement& statement, Graph& graph,
                                 const Names& names,
                                 std::optional<TensorId> target) const {
    OCANNL_ASSIGN_OR_RETURN(ParsedTensor parsed,
                            ParseValue(graph, text_, statement, names));
    if (!parsed.parameters.empty()) {
      return ErrorAt(statement.offset,
                     "a value declares no parameter; write the name of one "
                     "without braces");
    }
    absl::StatusOr<TensorId> value =
        AddValue(statement, parsed.tensor, target, names_.numbers);
    OCANNL_RETURN_IF_ERROR(Located(statement, value.status()));
    return value;
  }

  // Stores the value in the array of `target`.
  absl::Status Store(const AssignStatement& statement, TensorId target) {
    OCANNL_ASSIGN_OR_RETURN(TensorId value,
                            Value(statement, graph_, visible_, target));
    if (const auto* number = std::get_if<NumberSource>(&graph_[value].source)) {
      StoreLeaf(statement, target,
                Literal(code_.update.exprs, graph_[value].dtype, number->value),
                {});
      return absl::OkStatus();
    }
    const Shape shape = shapes_.at(target);
    // What has no shape of its own, such as random numbers, takes the array's;
    // else smaller ones are repeated.
    TensorNode wanted = graph_[value];
    for (RowKind kind : kRowKinds) wanted.spec[kind] = shape[kind];
    const TensorId fitting = graph_.Add(std::move(wanted));
    if (InferShapes(graph_, {fitting}, shapes_).ok()) {
      return AppendValue(statement, fitting, arrays_.at(graph_[target].name));
    }
    OCANNL_RETURN_IF_ERROR(
        Located(statement, InferShapes(graph_, {value}, shapes_)));
    std::optional<Indices> indices = RepeatIndices(shapes_.at(value), shape);
    if (!indices) {
      return ErrorAt(
          statement.offset,
          absl::StrCat("the value has shape ", ToString(shapes_.at(value)),
                       " and `", statement.target, "` ", ToString(shape),
                       "; sum or slice the value"));
    }
    Array part = PartOf(arrays_.at(graph_[target].name));
    part.dims = shapes_.at(value).dims();
    AssignStatement sets = statement;
    if (!statement.logic) sets.accum = std::nullopt;
    OCANNL_RETURN_IF_ERROR(AppendValue(sets, value, part));
    const int32_t from = code_.update.AddArray(part);
    const Expr leaf = MakeLeaf(code_.update.exprs, ComputeDType(part.dtype), 0);
    StoreLeaf(statement, target, leaf, {ReadArray{from, *indices}});
    return absl::OkStatus();
  }

  // target (op)= rhs, pointwise.
  void StoreLeaf(const AssignStatement& statement, TensorId target, Expr rhs,
                 std::vector<Source> sources) {
    const Array& array = arrays_.at(graph_[target].name);
    CellLoops loops(array.dims);
    code_.update.list.push_back(Assign{.lhs = code_.update.AddArray(array),
                                       .lhs_indices = loops.indices,
                                       .accum = statement.accum,
                                       .reset = statement.reset,
                                       .rhs = rhs.id(),
                                       .sources = std::move(sources),
                                       .extents = loops.extents,
                                       .logic = ""});
  }

  // A name for a part of the value of `array`.
  Array PartOf(const Array& array) {
    return Intermediate(absl::StrCat(array.name, ".", ++parts_), array);
  }

  // The code of `value`, whose last part goes to `target`.
  absl::Status AppendValue(const AssignStatement& statement, TensorId value,
                           const Array& target) {
    Rootness rootness;
    OCANNL_ASSIGN_OR_RETURN(Assignments code,
                            ocannl::Forward(graph_, shapes_, value, rootness));
    bool is_first = true;
    for (Assignment& each : code.list) {
      Assign* assign = std::get_if<Assign>(&each);
      if (assign == nullptr ||
          code.arrays[assign->lhs].name != graph_[value].name) {
        continue;
      }
      OCANNL_RETURN_IF_ERROR(SetAccum(statement, is_first, *assign));
      is_first = false;
    }
    for (Array& array : code.arrays) {
      auto known = arrays_.find(array.name);
      if (array.name == graph_[value].name) {
        array = target;
      } else if (known != arrays_.end()) {
        array = known->second;
      } else {
        array.name = PartOf(target).name;
      }
    }
    Append(code_.update, code);
    return absl::OkStatus();
  }

  absl::Status SetAccum(const AssignStatement& statement, bool is_first,
                        Assign& assign) const {
    if (!statement.accum) return absl::OkStatus();
    if (assign.accum && assign.accum != OfTerms(*statement.accum)) {
      return ErrorAt(
          statement.offset,
          absl::StrCat("the value accumulates by `", Info(*assign.accum).text,
                       "` and the assignment by `", Info(*statement.accum).text,
                       "`; declare an array for the value"));
    }
    assign.accum = statement.accum;
    assign.reset = statement.reset && is_first;
    return absl::OkStatus();
  }

  Model& model_;
  absl::string_view text_;
  const Names& names_;
  Graph graph_;
  Shapes shapes_;
  Names visible_;  // what values can name, in graph_
  absl::flat_hash_map<std::string, Array> arrays_;  // by their leaf's name
  absl::flat_hash_map<TensorId, BackwardCode> backward_;
  std::string suffix_;  // of what is declared
  int parts_ = 0;
  UpdateCode code_;
};

}  // namespace

absl::StatusOr<UpdateCode> ParseCode(Model& model, absl::string_view text,
                                     const Names& names) {
  OCANNL_ASSIGN_OR_RETURN(std::vector<Statement> statements,
                          ParseStatements(text, names));
  for (const auto& [name, tensor] : names.tensors) {
    OCANNL_RETURN_IF_ERROR(CheckIsIn(model, tensor));
  }
  Rootness before = model.rootness;
  CodeWriter writer(model, text, names);
  absl::Status status = writer.Write(statements);
  if (!status.ok()) {
    model.rootness = std::move(before);
    return status;
  }
  return std::move(writer).code();
}

}  // namespace ocannl::train
