// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/scalars.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/tensor/axis_spec.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/open_dtype.h"
#include "ocannl/core/tensor/text.h"

namespace ocannl {
namespace {

constexpr absl::string_view kAll = "...|...->... => ";

bool IsScalar(const TensorNode& node) {
  if (IsNumberLike(node.source)) return true;
  const EinsumSpec* spec = EinsumOf(node.source);
  if (spec != nullptr) return spec->result == EinsumSlot();
  return absl::c_all_of(node.spec->rows, [](const std::optional<Dims>& row) {
    return row && row->empty();
  });
}

bool IsBool(const Arg& arg) {
  const auto* tensor = std::get_if<Tensor>(&arg.value);
  return tensor != nullptr && tensor->node().dtype == DType::kBool;
}

// What is not 0.
Arg Truth(Graph& graph, const Arg& arg) {
  if (IsBool(arg)) return arg;
  const auto* tensor = std::get_if<Tensor>(&arg.value);
  const Arg number(tensor != nullptr ? *tensor : Number(graph, arg), arg.where);
  return Arg(NotEqual(number, Arg(0, arg.where)), arg.where);
}

Tensor Logic(Op op, const Arg& a, const Arg& b) {
  const auto* tensor = std::get_if<Tensor>(&a.value);
  Graph& graph =
      *(tensor != nullptr ? *tensor : std::get<Tensor>(b.value)).graph;
  const Arg left = Truth(graph, a);
  const Arg right = Truth(graph, b);
  return Pointwise(op, {left, right});
}

// The bool `id` in the dtype of `like`, or in an open one.
TensorId Counted(Graph& graph, TensorId id, std::optional<TensorId> like,
                 SourceLocation where) {
  const bool is_open = !like || graph.IsOpen(*like);
  const DType dtype = is_open ? DType::kF32 : graph[*like].dtype;
  const Tensor number = Convert(Arg(Tensor{&graph, id}, where), dtype);
  const std::string text = OperandText(graph[id]);
  const bool is_infix = absl::StrContains(text, ' ');
  graph.SetText(number.id, is_infix ? absl::StrCat("(", text, ")") : text);
  if (is_open) graph.Open(number.id);
  return number.id;
}

}  // namespace

void CountBools(Graph& graph, std::optional<Op> op, size_t first,
                SourceLocation where, std::vector<TensorId>& ids) {
  bool all = op && Accepts(Info(*op).typing, DType::kBool);
  std::vector<size_t> bools;
  std::optional<TensorId> like;  // a number, a decided one if there is one
  for (size_t k = first; k < ids.size(); ++k) {
    const TensorNode& node = graph[ids[k]];
    const auto* number = std::get_if<NumberSource>(&node.source);
    if (std::holds_alternative<ErrorSource>(node.source)) return;
    if (number != nullptr) {
      all = all && (number->value == 0 || number->value == 1);
    } else if (IsNumberLike(node.source)) {
      all = false;
    } else if (node.dtype == DType::kBool) {
      bools.push_back(k);
    } else {
      all = false;
      if (!like || graph.IsOpen(*like)) like = ids[k];
    }
  }
  if (all) return;
  for (size_t k : bools) ids[k] = Counted(graph, ids[k], like, where);
}

bool HasScalar(absl::Span<const Arg> args) {
  return absl::c_any_of(args, [](const Arg& arg) {
    const auto* tensor = std::get_if<Tensor>(&arg.value);
    return tensor == nullptr || IsScalar(tensor->node());
  });
}

Tensor operator*(const Arg& a, const Arg& b) {
  return HasScalar({a, b}) ? Mul(a, b) : Compose(a, b);
}

Tensor Sum(Tensor x, SourceLocation where) {
  return Einsum1(kAll, Arg(x, where));
}

Tensor Mean(Tensor x, SourceLocation where) {
  const TensorNode& node = x.node();
  if (std::holds_alternative<ErrorSource>(node.source)) return x;
  const std::string text = CallText("Mean", "", {&node});
  if (!IsFloat(ComputeDType(node.dtype))) {
    return ErrorTensor(
        *x.graph, text,
        absl::StrCat("a mean is of floats, not of ", Name(node.dtype),
                     "; convert them: ", ConversionText(node, DType::kF32)),
        where);
  }
  return Composed(*x.graph, text, where, [&]() -> absl::StatusOr<Tensor> {
    const DType dtype = DecidedDType(x);
    const Tensor wide = InDType(x, ComputeDType(dtype), where);
    const Tensor cells = EmbedDim(
        wide, {RowKind::kBatch, RowKind::kOutput, RowKind::kInput}, where);
    const Tensor sum = Sum(wide, where);
    return InDType(Div(Arg(sum, where), Arg(cells, where)), dtype, where);
  });
}

Tensor operator&&(const Arg& a, const Arg& b) { return Logic(Op::kAnd, a, b); }
Tensor operator||(const Arg& a, const Arg& b) { return Logic(Op::kOr, a, b); }
Tensor operator!(const Arg& a) {
  return IsBool(a) ? Not(a) : Equal(a, Arg(0, a.where));
}

}  // namespace ocannl
