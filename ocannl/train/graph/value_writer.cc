// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/graph/value_writer.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/assign/build.h"
#include "ocannl/core/assign/loops.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/open_dtype.h"
#include "ocannl/train/graph/value.h"

namespace ocannl::train {

absl::Status Located(const CodeScope& scope, const AssignStatement& statement,
                     const absl::Status& status) {
  if (status.ok()) return status;
  return scope.ErrorAt(statement.offset, status.message());
}

absl::StatusOr<TensorId> ValueWriter::Value(const AssignStatement& statement,
                                            const Names& names,
                                            std::optional<TensorId> target) {
  OCANNL_ASSIGN_OR_RETURN(
      ParsedTensor parsed,
      ParseValue(scope_.graph(), text_, statement, names, where_));
  if (!parsed.parameters.empty()) {
    return scope_.ErrorAt(statement.offset,
                          "a value declares no parameter; write the name of "
                          "one without braces");
  }
  absl::StatusOr<TensorId> value =
      AddValue(statement, parsed.tensor, target, names.numbers);
  OCANNL_RETURN_IF_ERROR(Located(scope_, statement, value.status()));
  return value;
}

absl::Status ValueWriter::Store(const AssignStatement& statement,
                                TensorId target) {
  Graph& graph = scope_.graph();
  Shapes& shapes = scope_.shapes();
  OCANNL_ASSIGN_OR_RETURN(TensorId value,
                          Value(statement, scope_.visible(), target));
  if (std::holds_alternative<NumberSource>(graph[value].source)) {
    StoreLeaf(
        statement, target,
        FromConstant(code_.exprs, ConstantOf(graph[value], graph[value].dtype)),
        {});
    return absl::OkStatus();
  }
  const Shape shape = shapes.at(target);
  // What has no shape of its own, such as random numbers, takes the array's;
  // else smaller ones are repeated.
  TensorNode wanted = graph[value];
  wanted.spec.Mutable().rows = SpecOf(shape).rows;
  const TensorId fitting = graph.Add(std::move(wanted));
  const bool fits = InferShapes(graph, {fitting}, shapes).ok();
  if (fits) value = fitting;
  OCANNL_RETURN_IF_ERROR(
      Located(scope_, statement, InferShapes(graph, {value}, shapes)));
  ComputedBy computed_by;
  OCANNL_ASSIGN_OR_RETURN(Assignments code,
                          Forward(graph, shapes, value, computed_by));
  const std::string name = graph[value].name;
  const bool has_rest =
      statement.logic && !statement.accum && !statement.declares;
  const Reach reach = has_rest ? ReachOf(code, name) : Reach::kAll;
  const bool reads_other =
      !statement.accum && ReadsOther(code, name, scope_.array(target).name);
  if (reach == Reach::kOnce) SetOnce(name, code);
  if (fits && reach != Reach::kSome && !reads_other) {
    return AppendValue(statement, name, std::move(code), scope_.array(target));
  }
  std::optional<Indices> indices = RepeatIndices(shapes.at(value), shape);
  if (!indices) {
    return scope_.ErrorAt(
        statement.offset,
        absl::StrCat("the value has shape ", ToString(shapes.at(value)),
                     " and `", statement.target, "` ", ToString(shape),
                     "; sum or slice the value"));
  }
  Array part = PartOf(scope_.array(target));
  part.dims = shapes.at(value).dims();
  std::optional<Array> mask;
  if (reach != Reach::kAll) {
    mask = PartOf(part);
    mask->dtype = DType::kI32;
    AppendMask(code, name, *mask, code_);
    const Expr zero = Literal(code_.exprs, part.dtype, 0);
    AssignPointwise(code_, code_.AddArray(part), std::nullopt, zero.id(), {});
  }
  AssignStatement sets = statement;
  if (!statement.logic) sets.accum = std::nullopt;
  OCANNL_RETURN_IF_ERROR(AppendValue(sets, name, std::move(code), part));
  StorePart(statement, target, part, mask, *indices);
  return absl::OkStatus();
}

// target (op)= rhs, pointwise.
void ValueWriter::StoreLeaf(const AssignStatement& statement, TensorId target,
                            Expr rhs, std::vector<Source> sources) {
  const Array& array = scope_.array(target);
  CellLoops loops(array.dims);
  code_.list.push_back(Assign{.lhs = code_.AddArray(array),
                              .accum = statement.accum,
                              .reset = statement.reset,
                              .lhs_indices = loops.indices,
                              .rhs = rhs.id(),
                              .sources = std::move(sources),
                              .extents = loops.extents});
}

// target (op)= part[indices], where the mask, if any, is 1.
void ValueWriter::StorePart(const AssignStatement& statement, TensorId target,
                            const Array& part, const std::optional<Array>& mask,
                            const Indices& indices) {
  const DType dtype = ComputeDType(part.dtype);
  std::vector<Source> sources = {ReadArray{code_.AddArray(part), indices}};
  Expr value = MakeLeaf(code_.exprs, dtype, 0);
  if (mask) {
    const Array& array = scope_.array(target);
    sources.push_back(ReadArray{code_.AddArray(*mask), indices});
    sources.push_back(
        ReadArray{code_.AddArray(array), CellLoops(array.dims).indices});
    value = Select(Equal(MakeLeaf(code_.exprs, mask->dtype, 1), 1), value,
                   MakeLeaf(code_.exprs, dtype, 2));
  }
  StoreLeaf(statement, target, value, std::move(sources));
}

// A name for a part of the value of `array`.
Array ValueWriter::PartOf(const Array& array) {
  return Intermediate(absl::StrCat(array.name, ".", ++parts_), array);
}

// Appends the code of the value `name`, which goes to `target`.
absl::Status ValueWriter::AppendValue(const AssignStatement& statement,
                                      const std::string& name, Assignments code,
                                      const Array& target) {
  OCANNL_RETURN_IF_ERROR(
      Located(scope_, statement, SetAccum(statement, name, code)));
  for (Array& array : code.arrays) {
    const Array* known = scope_.FindArray(array.name);
    if (array.name == name) {
      array = target;
    } else if (known != nullptr) {
      array = *known;
    } else {
      array.name = PartOf(target).name;
    }
  }
  Append(code_, std::move(code));
  return absl::OkStatus();
}

}  // namespace ocannl::train
