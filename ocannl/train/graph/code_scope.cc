// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/graph/code_scope.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::train {
CodeScope::CodeScope(Model& model, absl::string_view text, Names names)
    : model_(model), text_(text), names_(std::move(names)) {
  for (const StaticSymbol& index : model.graph.statics()) {
    graph_.AddStatic(index.name, index.range);
  }
  // Its random operations are those of the model that come next.
  graph_.set_seed(model.graph.seed());
  graph_.set_randoms(model.graph.randoms());
  visible_.statics = names_.statics;
  visible_.numbers = names_.numbers;
  visible_.is_code = true;
  for (const auto& [name, tensor] : names_.tensors) named_.insert(tensor.id);
}

bool CodeScope::IsNamed(Tensor tensor) const {
  return named_.contains(tensor.id) ||
         absl::StrContains(text_, tensor.node().name);
}

const Array* CodeScope::FindArray(absl::string_view leaf) const {
  auto found = arrays_.find(leaf);
  return found == arrays_.end() ? nullptr : &found->second;
}

absl::Status CodeScope::ErrorAt(size_t offset,
                                absl::string_view message) const {
  return ocannl::ErrorAt(text_, offset, message);
}

absl::Status CodeScope::Unknown(absl::string_view name, size_t offset) const {
  return ErrorAt(offset, absl::StrCat("no tensor `", name,
                                      "`; put it into the names, or declare "
                                      "it: { ",
                                      name, " } =: ..."));
}

std::optional<Tensor> CodeScope::FindTensor(absl::string_view name) const {
  auto given = names_.tensors.find(name);
  if (given != names_.tensors.end()) return given->second;
  std::optional<TensorId> id = model_.graph.Find(name);
  if (!id || !model_.graph[*id].named) return std::nullopt;
  return Tensor{&model_.graph, *id};
}

absl::StatusOr<std::optional<Tensor>> CodeScope::Find(absl::string_view name,
                                                      size_t offset,
                                                      Assignments& code) {
  auto known = visible_.tensors.find(name);
  if (known != visible_.tensors.end()) return known->second;
  absl::string_view of = name;
  if (absl::ConsumeSuffix(&of, kMergeSuffix)) {
    return FindMerge(name, of, offset);
  }
  OCANNL_ASSIGN_OR_RETURN(std::optional<ModelArray> found,
                          FindInModel(name, offset));
  if (!found) return std::nullopt;
  if (found->computed) {
    OCANNL_RETURN_IF_ERROR(Compute(*found->computed, code));
  }
  return Add(name, found->shape, std::move(found->array));
}

// The leaf of what the merge buffer holds of the array that `of` is.
absl::StatusOr<std::optional<Tensor>> CodeScope::FindMerge(
    absl::string_view name, absl::string_view of, size_t offset) {
  if (absl::EndsWith(of, kMergeSuffix)) {
    return ErrorAt(offset,
                   absl::StrCat("`", name, "` would be of the merge ",
                                "buffer's own array; write `", of, "`"));
  }
  auto known = visible_.tensors.find(of);
  if (known != visible_.tensors.end()) {
    const Shape shape = shapes_.at(known->second.id);  // Add moves them
    return Add(name, shape, MergeArray(array(known->second.id)));
  }
  OCANNL_ASSIGN_OR_RETURN(std::optional<ModelArray> found,
                          FindInModel(of, offset));
  if (!found) return Unknown(of, offset);
  return Add(name, found->shape, MergeArray(found->array));
}

// The value of a tensor of the model, its gradient, or a state.
absl::StatusOr<std::optional<CodeScope::ModelArray>> CodeScope::FindInModel(
    absl::string_view name, size_t offset) {
  const bool is_gradient = absl::ConsumeSuffix(&name, ".grad");
  if (!is_gradient) absl::ConsumeSuffix(&name, ".value");
  std::optional<Tensor> tensor = FindTensor(name);
  if (!tensor) return FindState(name);
  OCANNL_RETURN_IF_ERROR(InferUses(model_.graph, {tensor->id}, model_.shapes));
  if (is_gradient && !tensor->node().has_gradient) {
    return ErrorAt(offset, absl::StrCat("`", name, "` has no gradient"));
  }
  ModelArray found{.shape = model_.shapes.at(tensor->id),
                   .array = (is_gradient ? GradientArray : ValueArray)(
                       model_.graph, model_.shapes, tensor->id),
                   .computed = std::nullopt};
  if (!is_gradient) found.computed = tensor;
  return found;
}

// The array that code before this one declared of x as NAME: x.NAME.
std::optional<CodeScope::ModelArray> CodeScope::FindState(
    absl::string_view name) const {
  const size_t dot = name.rfind('.');
  if (dot == absl::string_view::npos) return std::nullopt;
  std::optional<Tensor> of = FindTensor(name.substr(0, dot));
  if (!of) return std::nullopt;
  auto found = model_.states.find(
      absl::StrCat(name.substr(dot + 1), "_", of->node().name));
  if (found == model_.states.end()) return std::nullopt;
  return ModelArray{found->second.shape, found->second.array, std::nullopt};
}

// Computes `tensor` here if nothing does.
absl::Status CodeScope::Compute(Tensor tensor, Assignments& code) {
  const TensorSource& source = tensor.node().source;
  if (std::holds_alternative<ParamSource>(source) ||
      std::holds_alternative<DataSource>(source) ||
      model_.computed_by.forward.contains(tensor.id)) {
    return absl::OkStatus();
  }
  OCANNL_ASSIGN_OR_RETURN(Assignments forward, Forward(model_, tensor));
  Append(code, std::move(forward));
  return absl::OkStatus();
}

Tensor CodeScope::Add(absl::string_view name, const Shape& shape, Array array) {
  TensorId id =
      graph_.Add({.source = ParamSource{},
                  .name = array.name,
                  .text = std::string(name),
                  .dtype = array.dtype,
                  .named = true,
                  .has_gradient = false,
                  // By which the notation knows scalars.
                  .spec = shape == Shape() ? SpecOf(shape) : Boxed<ShapeSpec>(),
                  .where = SourceLocation::Current()});
  shapes_[id] = shape;
  taken_.insert(array.name);
  arrays_.emplace(graph_[id].name, std::move(array));
  visible_.tensors.insert_or_assign(name, Tensor{&graph_, id});
  return {&graph_, id};
}

bool CodeScope::IsTaken(absl::string_view array) const {
  const std::optional<TensorId> id = model_.graph.Find(array);
  return taken_.contains(array) || (id && model_.graph[*id].named) ||
         absl::EndsWith(array, kMergeSuffix);
}

absl::Status CodeScope::Of(absl::string_view name,
                           absl::FunctionRef<absl::Status()> write) {
  std::optional<Tensor> tensor = FindTensor(name);
  std::string outer = std::exchange(
      suffix_, absl::StrCat("_", tensor ? tensor->node().name : name));
  absl::Status status = write();
  suffix_ = std::move(outer);
  return status;
}

absl::Status CodeScope::ForEach(const ForStatement& loop,
                                absl::FunctionRef<absl::Status(Tensor)> write) {
  const auto names = names_.tensors;
  const Names visible = visible_;
  absl::Status status;
  for (Tensor tensor : names_.lists.at(loop.list)) {
    OCANNL_RETURN_IF_ERROR(InferUses(model_.graph, {tensor.id}, model_.shapes));
    const Shape& shape = model_.shapes.at(tensor.id);
    for (auto [kind, row] : {std::pair(RowKind::kInput, ".inputs"),
                             std::pair(RowKind::kOutput, ".outputs")}) {
      visible_.numbers[absl::StrCat(loop.name, row)] =
          static_cast<double>(NumElements(shape[kind]));
    }
    // What `name` was outside is not visible inside.
    absl::erase_if(visible_.tensors, [&](const auto& leaf) {
      return leaf.first == loop.name ||
             absl::StartsWith(leaf.first, absl::StrCat(loop.name, "."));
    });
    names_.tensors.insert_or_assign(loop.name, tensor);
    status = Of(loop.name, [&] { return write(tensor); });
    visible_ = visible;
    if (!status.ok()) break;
  }
  names_.tensors = names;
  return status;
}

absl::Status CodeScope::WithNodes(bool final,
                                  absl::FunctionRef<absl::Status()> use) {
  Graph::Mark mark = graph_.mark();
  absl::Status status = use();
  for (TensorId id{mark.nodes}; id.index < graph_.size(); ++id.index) {
    shapes_.erase(id);
    shapes_.names.erase(id);
    shapes_.bases.erase(id);
  }
  if (final) {
    mark.randoms = graph_.randoms();
    model_.graph.set_randoms(mark.randoms);
  }
  graph_.RollBack(mark);
  return status;
}

}  // namespace ocannl::train
