// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/open_dtype.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/ops/print.h"
#include "ocannl/core/tensor/defined_op.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/core/tensor/text.h"

namespace ocannl {
namespace {

// Above it, f32 does not hold all integers.
constexpr int64_t kF32Skips = int64_t{1} << 24;

// Whether f32 and f64 hold the number as it was written: integers beyond 2^53
// may have been others.
bool IsF32(double value) {
  if (!std::isfinite(value)) return true;
  return std::abs(value) < 0x1p53 && static_cast<float>(value) == value;
}

// How many cells there are; what is open may have any number of them.
int64_t CellsOf(const ShapeSpec& spec) {
  int64_t cells = 1;
  for (RowKind kind : kRowKinds) {
    for (int64_t size : spec[kind].value_or(Dims{0})) {
      if (size == 0) return std::numeric_limits<int64_t>::max();
      cells *= size;
    }
  }
  return cells;
}

// Whether the number is an integer of `dtype`, or rounds to one of its floats.
bool Holds(DType dtype, double value) {
  const double held = ToDouble(MakeConstant(dtype, value));
  if (IsFloat(ComputeDType(dtype))) {
    const bool is_zero = held == 0 && value != 0 && !IsNarrow(dtype);
    return !std::isfinite(value) || (std::isfinite(held) && !is_zero);
  }
  // As a double, the greatest integer may be the one above it.
  return held == value &&
         value < std::ldexp(1., 8 * SizeOf(dtype) - IsSigned(dtype));
}

// What the text of the node spells in `dtype`, if that is an integer of it.
std::optional<Constant> Spelled(const TensorNode& node, DType dtype) {
  const bool is_integer =
      IsInteger(dtype) && std::holds_alternative<NumberSource>(node.source);
  return is_integer ? ParseConstant(node.text, dtype) : std::nullopt;
}

// Whether the node may be of `dtype`, where it holds `value`.
bool Holds(const TensorNode& node, DType dtype, double value) {
  return Holds(dtype, value) || Spelled(node, dtype);
}

// A dtype for what `dtype` does not hold: the number of the node.
DType WiderDType(DType dtype, const TensorNode& node, double value) {
  if (IsInteger(dtype)) {
    if (Holds(node, DType::kI64, value)) return DType::kI64;
    const bool is_long = Holds(node, DType::kU64, value);
    if (is_long && !IsSigned(dtype)) return DType::kU64;
  }
  return Holds(DType::kF32, value) ? DType::kF32 : DType::kF64;
}

// A number that a node has to hold, and the node whose text spells it.
struct Held {
  double value;
  const TensorNode* spelled;
};

// Those of a defined operation: of the formula of the value, which is first,
// and of those of gradients, if it has any.
std::vector<Held> NumbersOfFormulas(const TensorNode& node) {
  std::vector<Held> numbers;
  const auto* compute = std::get_if<ComputeSource>(&node.source);
  if (compute == nullptr || !compute->defined) return numbers;
  const OpDefinition& op = *compute->defined;
  for (TensorId id{0}; id.index < op.graph.size(); ++id.index) {
    const auto* number = std::get_if<NumberSource>(&op.graph[id].source);
    if (id.index > op.value.index && !node.has_gradient) break;
    if (number != nullptr) {
      numbers.push_back({number->value, &op.graph[id]});
    }
  }
  return numbers;
}

// The greatest value of a static index that has a range.
std::optional<int64_t> LastOfStatic(const Graph& graph, TensorId id) {
  const auto* symbol = std::get_if<SymbolSource>(&graph[id].source);
  if (symbol == nullptr || symbol->part != SymbolSource::Part::kAll) {
    return std::nullopt;
  }
  const auto& range = graph.statics()[symbol->static_index].range;
  if (!range) return std::nullopt;
  return *range - 1;
}

// The first operand that the others follow: one that is decided, if any.
std::optional<TensorId> Leader(const Graph& graph,
                               absl::Span<const TensorId> ids) {
  std::optional<TensorId> open;
  for (TensorId id : ids) {
    if (IsNumberLike(graph[id].source)) continue;
    if (!graph.IsOpen(id)) return id;
    if (!open) open = id;
  }
  return open;
}

// The number in `dtype`, itself or a copy; a free one if that is `open`. Of a
// literal, the copy is its digits, which are f64.
TensorId NumberIn(Graph& graph, DType dtype, bool open, TensorId id) {
  const TensorNode& node = graph[id];
  if (open ? node.open == kFree : node.open < 0 && node.dtype == dtype) {
    return id;
  }
  TensorNode copy = node;
  copy.dtype = dtype;
  copy.open = kDecided;
  if (auto* data = std::get_if<DataSource>(&copy.source)) {
    data->data = data->digits;
  }
  if (!copy.named) copy.name.clear();
  return graph.Add(std::move(copy));
}

// The operand that the dtype of a result is that of.
std::optional<TensorId> DTypeOperand(const Graph& graph, TensorId id) {
  const TensorNode& node = graph[id];
  const auto* compute = std::get_if<ComputeSource>(&node.source);
  if (compute != nullptr && compute->op == Op::kConvert) return std::nullopt;
  std::optional<TensorId> operand;
  for (TensorId of : OperandsOf(node.source)) {
    if (graph[of].dtype != node.dtype) continue;
    if (!operand || IsNumberLike(graph[*operand].source)) operand = of;
  }
  return operand;
}

// A line about what the dtype of a tensor is from, and that.
std::pair<std::string, TensorId> DTypeOrigin(const Graph& graph, TensorId id) {
  const DType dtype = graph[id].dtype;
  const TensorNode* open = nullptr;  // the first one on the way that was
  while (true) {
    const TensorNode& node = graph[id];
    TensorId next = DTypeOperand(graph, id).value_or(TensorId());
    if (!next.valid() && node.dtype_note != nullptr) {
      if (open == nullptr) open = &node;
      next = node.dtype_note->of;
    }
    if (!next.valid()) break;
    id = next;
  }
  std::string line =
      absl::StrCat("\n  ", Name(dtype), ": ", Describe(graph[id]));
  if (open == nullptr) return {line, id};
  if (!open->dtype_note->of.valid()) {
    return {absl::StrCat(line, ", by default, as it says none"), TensorId()};
  }
  const std::string where = ToString(open->dtype_note->where);
  absl::StrAppend(&line, ", which ", OperandText(*open), " met",
                  where.empty() ? "" : " at ", where);
  return {line, id};
}

// Where the dtypes of two tensors are from, a line each, as the end of an
// error: "\n  f16: `f16(x)` (a.cc:3), which w met at a.cc:5"; nothing if they
// say them themselves.
std::string DTypeOrigins(const Graph& graph, TensorId a, TensorId b) {
  const auto [line_a, of_a] = DTypeOrigin(graph, a);
  const auto [line_b, of_b] = DTypeOrigin(graph, b);
  return of_a == a && of_b == b ? "" : absl::StrCat(line_a, line_b);
}

absl::Status CheckOneDType(const Graph& graph, absl::Span<const TensorId> ids) {
  for (TensorId id : ids) {
    const TensorNode &a = graph[ids[0]], &b = graph[id];
    if (a.dtype == b.dtype) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        OperandText(a), " is ", Name(a.dtype), " and ", OperandText(b), " is ",
        Name(b.dtype), "; convert one of them: ",
        a.dtype < b.dtype ? ConversionText(a, b.dtype)
                          : ConversionText(b, a.dtype),
        DTypeOrigins(graph, ids[0], id)));
  }
  return absl::OkStatus();
}

}  // namespace

void UniteDTypes(Graph& graph, size_t first, DType otherwise,
                 SourceLocation where, std::vector<TensorId>& ids) {
  for (TensorId id : ids) {
    if (std::holds_alternative<ErrorSource>(graph[id].source)) return;
  }
  const std::optional<TensorId> leader =
      Leader(graph, absl::MakeSpan(ids).subspan(first));
  const DType dtype = leader ? graph[*leader].dtype : otherwise;
  const bool is_open = leader && graph.IsOpen(*leader);
  for (size_t i = first; i < ids.size(); ++i) {
    if (IsNumberLike(graph[ids[i]].source)) {
      if (is_open && graph[ids[i]].open == graph[*leader].open) continue;
      ids[i] = NumberIn(graph, dtype, is_open, ids[i]);
    } else if (!graph.IsOpen(ids[i])) {
      continue;
    }
    if (is_open) {
      graph.Unite(ids[i], *leader);
    } else if (IsFloat(ComputeDType(dtype)) && graph.IsOpen(ids[i])) {
      graph.Decide(ids[i], dtype, {.of = *leader, .where = where});
    }
    const auto held = CheckHeld(graph, ids[i], leader.value_or(TensorId()));
    if (!held.ok()) ids[i] = ErrorTensor(graph, held, where).id;
  }
}

absl::Status CheckHeld(const Graph& graph, TensorId id, TensorId met) {
  const TensorNode& node = graph[id];
  const auto* number = std::get_if<NumberSource>(&node.source);
  const auto* data = std::get_if<DataSource>(&node.source);
  std::vector<Held> values = NumbersOfFormulas(node);
  const bool is_formula = !values.empty();
  if (number != nullptr) values.push_back({number->value, &node});
  if (data != nullptr && data->digits) {
    for (double value : data->digits->values<double>()) {
      values.push_back({value, &node});
    }
  }
  const std::optional<int64_t> last = LastOfStatic(graph, id);
  if (last && (IsFloat(node.dtype) || SizeOf(node.dtype) < sizeof(*last))) {
    values.push_back({static_cast<double>(*last), &node});
  }
  if (!met.valid() && node.dtype_note) met = node.dtype_note->of;
  if (is_formula) met = OperandsOf(node.source)[0];
  // The first value of a parameter is converted, not the parameter.
  const bool is_met =
      is_formula ||
      (met.valid() && !std::holds_alternative<ParamSource>(graph[met].source));
  for (const auto& [value, spelled] : values) {
    if (node.open >= 0 || Holds(*spelled, node.dtype, value)) continue;
    const DType wider = WiderDType(node.dtype, *spelled, value);
    return absl::InvalidArgumentError(absl::StrCat(
        "error in ", Describe(node), ": ", Name(node.dtype), " does not hold ",
        number != nullptr || is_formula ? spelled->text : NumberText(value),
        last ? ", its greatest value" : "", "; write ",
        is_met ? ConversionText(graph[met], wider)
               : absl::StrCat(node.text,
                              number != nullptr ? ":" : " + 0:", Name(wider)),
        last ? "" : ", or another number"));
  }
  return absl::OkStatus();
}

absl::Status CheckHolds(const Graph& graph, TensorId id, double value,
                        absl::Span<const TensorId> nodes) {
  const TensorNode& node = graph[id];
  if (Holds(node.dtype, value)) return absl::OkStatus();
  const DType wider = WiderDType(node.dtype, node, value);
  std::string fix = absl::StrCat("make it ", Name(wider));
  for (TensorId user : nodes) {
    const absl::Span<const TensorId> operands = OperandsOf(graph[user].source);
    if (!absl::c_linear_search(operands, id)) continue;
    for (TensorId met : operands) {
      if (met == id || graph[met].dtype != node.dtype) continue;
      fix = absl::StrCat("write ", ConversionText(graph[met], wider));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("error in ", Describe(node), ": ", Name(node.dtype),
                   " does not hold ", NumberText(value),
                   std::holds_alternative<DimSource>(node.source)
                       ? ", the size"
                       : ", the last of the numbers",
                   "; ", fix));
}

Constant ConstantOf(const TensorNode& node, DType dtype) {
  const double value = std::get<NumberSource>(node.source).value;
  if (std::abs(value) >= 0x1p53) {
    if (const auto exact = Spelled(node, dtype)) return *exact;
  }
  return MakeConstant(dtype, value);
}

absl::StatusOr<TensorId> WithAllDigits(Graph& graph, TensorId id, DType dtype) {
  const TensorNode& node = graph[id];
  const bool is_wide = SizeOf(dtype) >= 4 && dtype != DType::kF32;
  std::optional<DType> as;
  if (const auto* number = std::get_if<NumberSource>(&node.source)) {
    const bool is_it = IsFloat(ComputeDType(dtype)) || Spelled(node, dtype);
    if (!IsF32(number->value)) as = is_it ? dtype : DType::kF64;
  } else if (IsNumberLike(node.source) && is_wide) {
    const int64_t last = LastOfStatic(graph, id).value_or(kF32Skips);
    if (last >= kF32Skips) as = SizeOf(dtype) == 8 ? dtype : DType::kF64;
  } else if (std::holds_alternative<OffsetsSource>(node.source) && is_wide) {
    const bool is_f32 = node.dtype == DType::kF32;
    if (is_f32 && CellsOf(*node.spec) > kF32Skips) as = dtype;
  } else if (const auto* data = std::get_if<DataSource>(&node.source)) {
    if (data->digits == nullptr || dtype == DType::kF32) return id;
    const auto digits = data->digits->values<double>();
    auto is_beyond = [](double value) { return std::abs(value) >= 0x1p53; };
    const auto* beyond = absl::c_find_if(digits, is_beyond);
    if (IsInteger(dtype) && beyond != digits.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "error in ", Describe(node), ": an array holds integers below 2^53, ",
          "not ", NumberText(*beyond), "; write it as a number, or read the ",
          "array from a file"));
    }
    if (!absl::c_all_of(digits, IsF32)) as = DType::kF64;
  }
  return as ? NumberIn(graph, *as, /*open=*/false, id) : id;
}

void DecideDTypes(Graph& graph, absl::Span<const TensorId> roots) {
  if (!graph.has_open()) return;
  for (TensorId id : TopologicalOrder(graph, roots, true)) {
    if (graph.IsOpen(id)) DecideDType(graph, id, graph.default_dtype());
  }
}

void DecideDType(Graph& graph, TensorId id, DType dtype) {
  if (graph.IsOpen(id) && IsFloat(ComputeDType(dtype))) {
    graph.Decide(id, dtype, {.of = TensorId(), .where = graph[id].where});
  }
}

absl::StatusOr<DType> InferDType(const Graph& graph, std::optional<Op> op,
                                 std::optional<DType> wanted,
                                 absl::Span<const TensorId> ids) {
  OCANNL_RETURN_IF_ERROR(
      CheckOneDType(graph, ids.subspan(op == Op::kSelect ? 1 : 0)));
  if (!op) return graph[ids[0]].dtype;
  if (!wanted && (op == Op::kConvert || op == Op::kBitcast)) {
    return absl::InvalidArgumentError(
        "it does not say to which dtype; write Convert(x, dtype)");
  }
  std::vector<DType> dtypes;
  for (TensorId id : ids) dtypes.push_back(graph[id].dtype);
  if (wanted) return ResultType(*op, dtypes, *wanted);
  // Narrow operands are computed with f32 and give a narrow result.
  const DType narrow = dtypes.back();
  for (DType& dtype : dtypes) dtype = ComputeDType(dtype);
  OCANNL_ASSIGN_OR_RETURN(DType result, ResultType(*op, dtypes, DType()));
  return result == ComputeDType(narrow) ? narrow : result;
}

}  // namespace ocannl
