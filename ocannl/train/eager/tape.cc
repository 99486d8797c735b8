// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/eager/tape.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/eager/axes.h"

namespace ocannl::train {
namespace {

bool SameLeaf(const void* type, const void* other) {
  return *static_cast<const LeafType*>(type) ==
         *static_cast<const LeafType*>(other);
}

void PrintLeaf(const void* args, std::string* out) {
  const auto& type = *static_cast<const LeafType*>(args);
  absl::StrAppend(out, Name(type.dtype), " ", DimsText(type.dims));
}

void PrintRange(const void* args, std::string* out) {
  absl::StrAppend(out, static_cast<const LeafType*>(args)->range);
}

}  // namespace

const Operation kParam = {"Param", nullptr, SameLeaf, PrintLeaf};
const Operation kInput = {"Input", nullptr, SameLeaf, PrintLeaf};
const Operation kIndex = {"Index", nullptr, SameLeaf, PrintRange};
const Operation kConst = {"Const", nullptr, SameLeaf, PrintLeaf};

Tape::Tape(uint32_t seed, int number) : number_(number) {
  model_.graph.set_seed(seed);
  training_.step = model_.graph.AddStatic(kStep, std::nullopt);
}

absl::Span<const TensorId> Tape::made(uint32_t slot) const {
  if (IsLeaf(calls_[slot])) return {};
  const size_t begin = slot == 0 ? 0 : num_made_[slot - 1];
  return absl::MakeConstSpan(model_.graph.parameters())
      .subspan(begin, num_made_[slot] - begin);
}

std::string Tape::DataName(uint32_t slot) const {
  return absl::StrCat("session_data", slot, "_", number_);
}

std::string Tape::IndexName(uint32_t slot) {
  return absl::StrCat("index", slot);
}

absl::StatusOr<Tensor> Tape::MakeLeaf(const OpCall& call,
                                      const LeafValue& leaf) {
  Graph& graph = model_.graph;
  const auto slot = static_cast<uint32_t>(calls_.size());
  const LeafType& type = TypeOf(call);
  if (call.op == &kIndex) {
    return EmbedSymbol(graph, graph.AddStatic(IndexName(slot), type.range));
  }
  Shape shape;
  shape[RowKind::kOutput] = type.dims;
  if (call.op == &kParam && type.requires_grad) {
    return Param(graph, leaf.name, SpecOf(shape), type.dtype, nullptr);
  }
  // Who runs the code writes the values.
  const std::string name = call.op == &kParam ? leaf.name : DataName(slot);
  return Data(graph, name, NdArray(type.dtype, type.dims), SpecOf(shape));
}

absl::StatusOr<Tensor> Tape::Make(const OpCall& call, const LeafValue& leaf) {
  if (IsLeaf(call)) return MakeLeaf(call, leaf);
  std::vector<Shaped> operands;
  for (uint32_t slot : call.operands) {
    operands.push_back({tensor(slot), model_.shapes.at(ids_[slot])});
  }
  const Site site = {.graph = model_.graph,
                     .step = {training_.step},
                     .training = call.trains ? &training_ : nullptr,
                     .where = call.where,
                     .operands = operands};
  return call.op->build(site, call.args.get());
}

absl::Status Tape::Infer(Tensor made, size_t begin) {
  const std::vector<TensorId>& parameters = model_.graph.parameters();
  for (size_t k = begin; k < parameters.size(); ++k) {
    const TensorNode& node = model_.graph[parameters[k]];
    if (node.name == node.text && !absl::StartsWith(node.name, "session_")) {
      continue;
    }
    return UserError(
        "it makes a parameter `", node.text, "`, and the step has another one ",
        "of that name, or it begins with session_; give its scope another ",
        "name, or apply the block twice in one function");
  }
  std::vector<TensorId> roots = {made.id};
  for (const StateUpdate& update : training_.updates) {
    roots.push_back(update.value.id);
  }
  return InferShapes(model_.graph, roots, model_.shapes);
}

absl::Status Tape::Append(const OpCall& call, LeafValue leaf) {
  const Graph::Mark mark = model_.graph.mark();
  const size_t num_made = model_.graph.parameters().size();
  const auto num_updates = static_cast<int64_t>(training_.updates.size());
  absl::StatusOr<Tensor> made = Make(call, leaf);
  absl::Status status = made.status();
  if (status.ok()) status = Infer(*made, num_made);
  if (!status.ok()) {
    training_.updates.erase(training_.updates.begin() + num_updates,
                            training_.updates.end());
    model_.graph.RollBack(mark);
    std::vector<std::string> shapes;
    for (uint32_t slot : call.operands) shapes.push_back(DimsText(dims(slot)));
    return UserError(call.op->name, " (", ToString(call.where), ") of ",
                     shapes.empty() ? "nothing" : absl::StrJoin(shapes, ", "),
                     ": ", status.message());
  }
  const uint32_t slot = static_cast<uint32_t>(calls_.size());
  if (slot == num_params_ && call.op == &kParam) ++num_params_;
  if (slot == num_args_ && IsArg(call)) ++num_args_;
  computed_.push_back(seen_.insert(made->id).second && !IsLeaf(call));
  num_made_.push_back(model_.graph.parameters().size());
  ids_.push_back(made->id);
  dims_.push_back(model_.shapes.at(made->id).dims());
  calls_.push_back(call);
  signatures_.push_back(SignatureOf(call));
  leaves_.push_back(std::move(leaf));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Tape>> Tape::CopyUpTo(uint32_t slot) const {
  auto copy = std::make_unique<Tape>(model_.graph.seed(), number_);
  for (uint32_t k = 0; k <= slot; ++k) {
    OCANNL_RETURN_IF_ERROR(copy->Append(calls_[k], leaves_[k]));
  }
  return copy;
}

std::string Tape::Text() const {
  std::string text;
  for (uint32_t slot = 0; slot < calls_.size(); ++slot) {
    const std::string place = ToString(calls_[slot].where);
    absl::StrAppend(&text, "%", slot, " = ", ToString(calls_[slot]), " : ",
                    Name(dtype(slot)), " ", DimsText(dims_[slot]),
                    place.empty() ? "" : absl::StrCat("    # ", place), "\n");
  }
  return text;
}

}  // namespace ocannl::train
