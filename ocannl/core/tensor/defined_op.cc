// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/defined_op.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tensor/einsum/einsum_pieces.h"
#include "ocannl/core/tensor/open_dtype.h"
#include "ocannl/core/tensor/text.h"

namespace ocannl {
namespace {

// Formulas as expressions.
class Formulas {
 public:
  Formulas(const OpDefinition& definition, absl::Span<const Expr> args)
      : definition_(definition), type_of_(args[0]) {
    const size_t operands = definition.operands.size();
    for (size_t k = 0; k < args.size(); ++k) {
      known_.emplace(k < operands ? definition.operands[k]
                                  : definition.intermediates[k - operands].leaf,
                     args[k]);
    }
  }

  void Set(TensorId leaf, Expr expr) { known_.emplace(leaf, expr); }

  Expr Of(TensorId id) {
    auto known = known_.find(id);
    if (known != known_.end()) return known->second;
    const TensorSource& source = definition_.graph[id].source;
    if (std::holds_alternative<NumberSource>(source)) {
      const TensorNode& number = definition_.graph[id];
      return FromConstant(*type_of_.pool(),
                          ConstantOf(number, type_of_.dtype()));
    }
    const auto* compute = std::get_if<ComputeSource>(&source);
    CHECK(compute != nullptr);
    if (!compute->op) return Of(compute->operands[0]);
    std::vector<Expr> args;
    for (TensorId operand : compute->operands) args.push_back(Of(operand));
    Expr expr = ApplyOp(*compute->op, args, type_of_.dtype());
    known_.emplace(id, expr);
    return expr;
  }

 private:
  const OpDefinition& definition_;
  Expr type_of_;
  absl::flat_hash_map<TensorId, Expr> known_;
};

// How the operands meet, and the error if they cannot.
absl::Status SetLogic(const OpDefinition& definition, absl::string_view logic,
                      ComputeSource& source) {
  if (logic == ".") return absl::OkStatus();
  source.accum = definition.accum;
  if (!source.accum) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", definition.name,
                     "` does not say how terms accumulate; define it with "
                     "`v =:+ ...` or `v =:@^ ...`"));
  }
  if (logic == "@" && source.operands.size() == 2) {
    source.logic = ComputeSource::Compose();
    return absl::OkStatus();
  }
  OCANNL_ASSIGN_OR_RETURN(
      const EinsumSpec spec,
      ParseEinsum(logic, static_cast<int>(source.operands.size())));
  source.logic = spec;
  const absl::Status status = PiecesOf(spec, /*one_at_a_time=*/false).status();
  return status.ok() ? status : WithSpec(status, logic);
}

absl::Status CheckOperands(const OpDefinition& definition,
                           const std::vector<const TensorNode*>& nodes) {
  if (nodes.size() != definition.operands.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "`", definition.name, "` takes ", definition.operands.size(),
        " operands, not ", nodes.size()));
  }
  for (const TensorNode* node : nodes) {
    if (const auto* error = std::get_if<ErrorSource>(&node->source)) {
      return error->status;
    }
    if (node->dtype != nodes[0]->dtype) {
      return absl::InvalidArgumentError(absl::StrCat(
          "`", definition.name, "` takes operands of one dtype, not ",
          Name(nodes[0]->dtype), " and ", Name(node->dtype)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Tensor ApplyDefined(std::shared_ptr<const OpDefinition> definition,
                    absl::Span<const Arg> args, absl::string_view logic) {
  CHECK(!args.empty() && std::holds_alternative<Tensor>(args[0].value));
  Graph& graph = *std::get<Tensor>(args[0].value).graph;
  ComputeSource source;
  for (const Arg& arg : args) {
    Tensor tensor = std::holds_alternative<Tensor>(arg.value)
                        ? std::get<Tensor>(arg.value)
                        : Number(graph, arg);
    if (tensor.graph != &graph) {
      const TensorNode& first = std::get<Tensor>(args[0].value).node();
      return ErrorTensor(graph, TwoGraphs(first, tensor.node(), arg.where),
                         arg.where);
    }
    source.operands.push_back(tensor.id);
  }
  UniteDTypes(graph, 0, DType::kF32, args[0].where, source.operands);
  std::vector<const TensorNode*> nodes;
  bool has_gradient = false;
  for (TensorId id : source.operands) {
    const size_t k = nodes.size();
    nodes.push_back(&graph[id]);
    has_gradient |= k < definition->gradients.size() &&
                    definition->gradients[k] && nodes[k]->has_gradient;
  }
  absl::Status status = CheckOperands(*definition, nodes);
  if (status.ok()) status = SetLogic(*definition, logic, source);
  std::string text = CallText(definition->name, "", nodes);
  if (!status.ok()) {
    return ErrorTensor(
        graph,
        absl::Status(status.code(),
                     absl::StrCat("error in `", text, "`: ", status.message())),
        args[0].where);
  }
  const DType dtype = nodes[0]->dtype;
  const int32_t open = std::max(nodes[0]->open, kDecided);
  source.defined = std::move(definition);
  TensorId id = graph.Add({.source = std::move(source),
                           .name = "",
                           .text = std::move(text),
                           .dtype = dtype,
                           .has_gradient = has_gradient,
                           .open = open,
                           .where = args[0].where});
  return {&graph, id};
}

Expr TermOf(const OpDefinition& definition, absl::Span<const Expr> args) {
  return Formulas(definition, args).Of(definition.value);
}

std::vector<std::optional<Expr>> GradientsOf(const OpDefinition& definition,
                                             absl::Span<const Expr> args,
                                             Expr y, Expr g) {
  Formulas formulas(definition, args);
  formulas.Set(definition.result, y);
  formulas.Set(definition.gradient, g);
  std::vector<std::optional<Expr>> gradients;
  for (const std::optional<TensorId>& formula : definition.gradients) {
    gradients.push_back(formula ? std::optional(formulas.Of(*formula))
                                : std::nullopt);
  }
  return gradients;
}

std::vector<Expr> IntermediatesOf(const OpDefinition& definition,
                                  absl::Span<const Expr> args, Expr y, Expr g) {
  Formulas formulas(definition, args);
  formulas.Set(definition.result, y);
  formulas.Set(definition.gradient, g);
  std::vector<Expr> values;
  for (const OpDefinition::Intermediate& each : definition.intermediates) {
    values.push_back(formulas.Of(each.value));
  }
  return values;
}

DType DTypeOf(const OpDefinition& definition,
              const OpDefinition::Intermediate& intermediate, DType dtype) {
  const bool is_bool =
      definition.graph[intermediate.leaf].dtype == DType::kBool;
  return is_bool ? DType::kBool : dtype;
}

}  // namespace ocannl
