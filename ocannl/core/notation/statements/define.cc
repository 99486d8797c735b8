// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/statements/define.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/operators.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/notation/statements/statements.h"
#include "ocannl/core/ops/depth.h"

namespace ocannl {
namespace {

constexpr int kMostOperands = 9;  // one digit

// The ways to write the value of operand k, and the gradient; of the result, if
// k is 0.
std::vector<std::string> ValueNames(int k) {
  const std::string number = k == 0 ? "" : absl::StrCat(k);
  std::vector<std::string> names = {"v" + number, "t" + number,
                                    absl::StrCat("t", number, ".value"),
                                    k == 0 ? "lhs" : "rhs" + number};
  if (k == 1) names.emplace_back("rhs");
  return names;
}
std::vector<std::string> GradientNames(int k) {
  const std::string number = k == 0 ? "" : absl::StrCat(k);
  return {"g" + number, absl::StrCat("t", number, ".grad")};
}

// Which number `names` of is `name`; -1 if none.
template <class Names>
int NumberOf(absl::string_view name, Names names) {
  for (int k = 0; k <= kMostOperands; ++k) {
    if (absl::c_linear_search(names(k), name)) return k;
  }
  return -1;
}

// The slot that the name of an intermediate array tells, such as sum_rhs1 or
// rhs1_sum: 0 is that of the result, k that of operand k; -1: none.
int SlotOf(absl::string_view name) {
  for (int k = 0; k <= kMostOperands; ++k) {
    for (const std::string& slot : ValueNames(k)) {
      if (!absl::StrContains(slot, "hs")) continue;  // lhs, rhs, rhs1
      if (absl::StartsWith(name, absl::StrCat(slot, "_")) ||
          absl::EndsWith(name, absl::StrCat("_", slot))) {
        return k;
      }
    }
  }
  return -1;
}

class Definer {
 public:
  Definer(std::string name, const Names& names)
      : definition_(std::make_shared<OpDefinition>()) {
    definition_->name = std::move(name);
    names_.numbers = names.numbers;
    names_.is_code = true;
  }

  absl::StatusOr<std::shared_ptr<const OpDefinition>> Define(
      absl::string_view forward, absl::string_view backward) {
    OCANNL_RETURN_IF_ERROR(DefineValue(forward));
    definition_->result = AddLeaf(ValueNames(0));
    definition_->gradient = AddLeaf(GradientNames(0));
    OCANNL_ASSIGN_OR_RETURN(auto gradients, Parse(backward));
    for (const AssignStatement& statement : gradients) {
      const bool is_array = SlotOf(statement.target) >= 0 || statement.declares;
      definition_->routes_gradient |= is_array;
      OCANNL_RETURN_IF_ERROR(is_array ? AddIntermediate(backward, statement)
                                      : AddGradient(backward, statement));
    }
    return definition_;
  }

 private:
  // v =: ..., behind intermediates that it uses.
  absl::Status DefineValue(absl::string_view text) {
    OCANNL_ASSIGN_OR_RETURN(auto statements, Parse(text));
    AddLeaves(statements);
    const auto value = absl::c_find_if(statements, [](const auto& statement) {
      return NumberOf(statement.target, ValueNames) == 0;
    });
    const bool ends =
        value != statements.end() && &*value == &statements.back();
    if (!ends || (value->accum && !value->reset)) {
      const bool has_any = !statements.empty();
      const size_t offset = value != statements.end() ? value->offset
                            : has_any                 ? statements[0].offset
                                                      : 0;
      return ErrorAt(text, offset,
                     "expected one statement `v =: ...`, `v =:+ ...` or "
                     "`v =:@^ ...`");
    }
    if (value->accum && value->accum != Op::kAdd && value->accum != Op::kMax) {
      return ErrorAt(text, value->offset,
                     "terms accumulate by `=:+` or `=:@^`");
    }
    for (auto each = statements.begin(); each != value; ++each) {
      if (each->accum) {
        return ErrorAt(text, each->offset,
                       absl::StrCat("before v only `", each->target,
                                    " =: ...` may stand; accumulate in v"));
      }
      OCANNL_RETURN_IF_ERROR(AddIntermediate(text, *each));
    }
    definition_->accum = value->accum;
    OCANNL_ASSIGN_OR_RETURN(definition_->value, Formula(text, *value));
    return absl::OkStatus();
  }

  // What `=:` sets is its formula wherever it is named: each term has its own.
  // What accumulates is an array.
  absl::Status AddIntermediate(absl::string_view text,
                               const AssignStatement& statement) {
    const std::string& name = statement.target;
    const int slot = SlotOf(name);
    const int operands = static_cast<int>(definition_->operands.size());
    absl::string_view fault;
    if (slot < 0 || slot > operands) {
      fault =
          " does not tell whose cells it has; name it sum_lhs for those of "
          "the result, sum_rhs1 for those of t1";
    } else if (names_.tensors.contains(name)) {
      fault = " is assigned twice; give the second one another name";
    } else if (statement.accum && !statement.reset) {
      fault = " accumulates what nothing has set; write =: before the operator";
    }
    if (!fault.empty()) {
      return ErrorAt(text, statement.offset,
                     absl::StrCat("`", name, "`", fault));
    }
    OCANNL_ASSIGN_OR_RETURN(const TensorId formula, Formula(text, statement));
    Graph& graph = definition_->graph;
    if (!statement.accum) {
      names_.tensors.emplace(name, Tensor{&graph, formula});
      return absl::OkStatus();
    }
    const TensorId leaf = AddLeaf({name}, graph[formula].dtype);
    definition_->intermediates.push_back({.name = name,
                                          .slot = slot,
                                          .accum = *statement.accum,
                                          .leaf = leaf,
                                          .value = formula});
    return absl::OkStatus();
  }

  // Statements that only assign.
  absl::StatusOr<std::vector<AssignStatement>> Parse(absl::string_view text) {
    OCANNL_ASSIGN_OR_RETURN(std::vector<Statement> statements,
                            ParseStatements(text, names_));
    std::vector<AssignStatement> assigns;
    for (Statement& statement : statements) {
      auto* assign = std::get_if<AssignStatement>(&statement);
      if (assign == nullptr || assign->logic || assign->has_rows()) {
        return ErrorAt(text, assign == nullptr ? 0 : assign->offset,
                       "an operation's code assigns to v, or to g1, g2 "
                       "..., and has no ~logic of its own");
      }
      assigns.push_back(std::move(*assign));
    }
    return assigns;
  }

  // As many operands as the values name.
  void AddLeaves(const std::vector<AssignStatement>& statements) {
    int most = 1;
    for (const AssignStatement& statement : statements) {
      Lexer lexer(statement.value, NotationSymbols());
      while (lexer.peek().kind != Token::kEnd) {
        most = std::max(most, NumberOf(lexer.Next().text, ValueNames));
      }
    }
    for (int k = 1; k <= most; ++k) {
      definition_->operands.push_back(AddLeaf(ValueNames(k)));
    }
    definition_->gradients.resize(definition_->operands.size());
  }

  TensorId AddLeaf(const std::vector<std::string>& names,
                   DType dtype = DType::kF32) {
    Graph& graph = definition_->graph;
    TensorId id = graph.Add({.source = ParamSource{},
                             .name = names[0],
                             .text = names[0],
                             .dtype = dtype,
                             .named = true,
                             .has_gradient = false,
                             .where = SourceLocation::Current()});
    // Numbers are of the dtype that the operands will have.
    if (dtype != DType::kBool) graph.Open(id);
    for (const std::string& name : names) {
      names_.tensors.insert_or_assign(name, Tensor{&graph, id});
    }
    return id;
  }

  absl::StatusOr<TensorId> Formula(absl::string_view text,
                                   const AssignStatement& statement) {
    OCANNL_ASSIGN_OR_RETURN(
        ParsedTensor parsed,
        ParseValue(definition_->graph, text, statement, names_));
    Graph& graph = definition_->graph;
    OCANNL_RETURN_IF_ERROR(CheckDepth(text, statement, parsed.tensor.id));
    for (TensorId id : TopologicalOrder(graph, {parsed.tensor.id}, false)) {
      const TensorSource& source = graph[id].source;
      const auto* compute = std::get_if<ComputeSource>(&source);
      const bool is_leaf = std::holds_alternative<ParamSource>(source) &&
                           parsed.parameters.empty();
      const bool is_pointwise =
          compute != nullptr &&
          (compute->op != Op::kConvert || graph.IsOpen(id)) &&  // of a bool
          compute->op != Op::kBitcast && compute->spec() == nullptr;
      if (is_leaf || is_pointwise ||
          std::holds_alternative<NumberSource>(source)) {
        continue;
      }
      return ErrorAt(text, statement.offset,
                     absl::StrCat("`", graph[id].text,
                                  "` is no number and no pointwise operation"));
    }
    return parsed.tensor.id;
  }

  // An error where `formula` is no value that a program may have.
  absl::Status CheckDepth(absl::string_view text,
                          const AssignStatement& statement,
                          TensorId formula) const {
    const Graph& graph = definition_->graph;
    absl::flat_hash_map<TensorId, int> depths;
    for (TensorId id : TopologicalOrder(graph, {formula}, false)) {
      int& depth = depths[id];
      for (TensorId operand : OperandsOf(graph[id].source)) {
        depth = std::max(depth, depths.at(operand) + 1);
      }
    }
    if (depths.at(formula) <= kMaxValueDepth) return absl::OkStatus();
    return ErrorAt(
        text, statement.offset,
        absl::StrCat("`", statement.target, "` has more than ", kMaxValueDepth,
                     " operations inside of one another; define an operation "
                     "for a part of it"));
  }

  absl::Status AddGradient(absl::string_view text,
                           const AssignStatement& statement) {
    const int k = NumberOf(statement.target, GradientNames);
    const int operands = static_cast<int>(definition_->operands.size());
    const bool adds =
        (statement.accum == Op::kAdd || statement.accum == Op::kSub) &&
        !statement.reset;
    if (k < 1 || k > operands || !adds) {
      return ErrorAt(
          text, statement.offset,
          absl::StrCat("expected a statement `g1 =+ ...` or `=-`, up to g",
                       operands));
    }
    OCANNL_ASSIGN_OR_RETURN(TensorId formula, Formula(text, statement));
    Tensor added = {&definition_->graph, formula};
    std::optional<TensorId>& gradient = definition_->gradients[k - 1];
    if (statement.accum == Op::kSub) added = Neg(added);
    if (gradient) added = Tensor{added.graph, *gradient} + added;
    gradient = added.id;
    return CheckDepth(text, statement, added.id);
  }

  std::shared_ptr<OpDefinition> definition_;
  Names names_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const OpDefinition>> DefineOp(
    std::string name, absl::string_view forward, absl::string_view backward,
    const Names& names) {
  return Definer(std::move(name), names).Define(forward, backward);
}

}  // namespace ocannl
