// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/trainer/tape.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/trainer/axes.h"
#include "ocannl/train/trainer/primitives.h"

namespace ocannl::train {
namespace {

void AddType(OpCall& call, const NdArray& value) {
  call.numbers.push_back(static_cast<double>(value.dtype()));
  call.numbers.insert(call.numbers.end(), value.dims().begin(),
                      value.dims().end());
}

bool IsLeaf(const OpCall& call) { return call.op <= Primitive::kConst; }

// Where the dtype stands among the numbers; the dims are behind it.
size_t TypeOfLeaf(Primitive op) {
  if (op == Primitive::kParam) return 2;
  return op == Primitive::kInput ? 1 : 0;
}

}  // namespace

OpCall ParamCall(uint32_t number, bool requires_grad, const NdArray& value) {
  OpCall call = {.op = Primitive::kParam,
                 .operands = {},
                 .numbers = {double(number), requires_grad ? 1. : 0.},
                 .where = {}};
  AddType(call, value);
  return call;
}

OpCall InputCall(size_t args, const NdArray& value) {
  OpCall call = {.op = Primitive::kInput,
                 .operands = {},
                 .numbers = {static_cast<double>(args)},
                 .where = {}};
  AddType(call, value);
  return call;
}

OpCall IndexCall(size_t args, int64_t range) {
  return {.op = Primitive::kIndex,
          .operands = {},
          .numbers = {static_cast<double>(args), static_cast<double>(range)},
          .where = {}};
}

OpCall ConstCall(const NdArray& value, SourceLocation where) {
  OpCall call = {
      .op = Primitive::kConst, .operands = {}, .numbers = {}, .where = where};
  AddType(call, value);
  return call;
}

std::string ToString(const OpCall& call) {
  if (call.op == Primitive::kIndex) {
    return absl::StrCat("Index(", NumberText(call.numbers[1]), ")");
  }
  if (IsLeaf(call)) {
    const size_t type = TypeOfLeaf(call.op);
    const Dims dims(call.numbers.begin() + static_cast<int64_t>(type) + 1,
                    call.numbers.end());
    return absl::StrCat(Name(call.op), "(",
                        Name(static_cast<DType>(call.numbers[type])), " ",
                        DimsText(dims), ")");
  }
  auto operand = [](std::string* out, uint32_t slot) {
    absl::StrAppend(out, "%", slot);
  };
  auto number = [](std::string* out, double value) {
    absl::StrAppend(out, NumberText(value));
  };
  return absl::StrCat(Name(call.op), "(",
                      absl::StrJoin(call.operands, ", ", operand),
                      call.numbers.empty() ? "" : "; ",
                      absl::StrJoin(call.numbers, ",", number), ")");
}

Tape::Tape(uint32_t seed, int number) : number_(number) {
  model_.graph.set_seed(seed);
  step_ = model_.graph.AddStatic(kStep, std::nullopt);
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
  if (call.op == Primitive::kIndex) {
    const int32_t index =
        graph.AddStatic(IndexName(slot), static_cast<int64_t>(call.numbers[1]));
    return EmbedSymbol(graph, index);
  }
  const size_t type = TypeOfLeaf(call.op);
  const auto dtype = static_cast<DType>(call.numbers[type]);
  Shape shape;
  shape[RowKind::kOutput] =
      Dims(call.numbers.begin() + static_cast<int64_t>(type) + 1,
           call.numbers.end());
  if (call.op == Primitive::kParam && call.numbers[1] != 0) {
    return Param(graph, leaf.name, SpecOf(shape), dtype, nullptr);
  }
  // Who runs the code writes the values.
  const std::string name =
      call.op == Primitive::kParam ? leaf.name : DataName(slot);
  return Data(graph, name, NdArray(dtype, shape.dims()), SpecOf(shape));
}

absl::StatusOr<Tensor> Tape::Make(const OpCall& call, const LeafValue& leaf) {
  if (IsLeaf(call)) return MakeLeaf(call, leaf);
  std::vector<Operand> operands;
  for (uint32_t slot : call.operands) {
    operands.push_back({tensor(slot), dims(slot)});
  }
  OCANNL_ASSIGN_OR_RETURN(const Tensor made,
                          AddPrimitive(model_.graph, call, operands, step_));
  return made;
}

absl::Status Tape::Append(const OpCall& call, LeafValue leaf) {
  const Graph::Mark mark = model_.graph.mark();
  absl::StatusOr<Tensor> made = Make(call, leaf);
  absl::Status status = made.status();
  if (status.ok()) {
    status = InferShapes(model_.graph, {made->id}, model_.shapes);
  }
  if (!status.ok()) {
    model_.graph.RollBack(mark);
    std::vector<std::string> shapes;
    for (uint32_t slot : call.operands) shapes.push_back(DimsText(dims(slot)));
    return absl::InvalidArgumentError(
        absl::StrCat(Name(call.op), " (", ToString(call.where), ") of ",
                     shapes.empty() ? "nothing" : absl::StrJoin(shapes, ", "),
                     ": ", status.message()));
  }
  const uint32_t slot = static_cast<uint32_t>(calls_.size());
  if (slot == num_params_ && call.op == Primitive::kParam) ++num_params_;
  if (slot == num_args_ && call.op <= Primitive::kIndex) ++num_args_;
  computed_.push_back(seen_.insert(made->id).second && !IsLeaf(call));
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
