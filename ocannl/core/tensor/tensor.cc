// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/tensor.h"

#include <cmath>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/rows.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/einsum/einsum_pieces.h"
#include "ocannl/core/tensor/open_dtype.h"
#include "ocannl/core/tensor/scalars.h"
#include "ocannl/core/tensor/text.h"

namespace ocannl {
namespace {

constexpr double kMaxMultipliedPower = 8;

// The operand that is a tensor, the first if several are.
Tensor FirstTensor(absl::Span<const Arg> args) {
  for (const Arg& arg : args) {
    const auto* tensor = std::get_if<Tensor>(&arg.value);
    if (tensor != nullptr) return *tensor;
  }
  CHECK(false) << "at " << ToString(args[0].where)
               << ": an operation on numbers only; make one of them a tensor, "
                  "as by Number(graph, 2)";
  __builtin_unreachable();
}

// Whether op(operands...) has a gradient: an operand has one, and `op`, if any,
// passes gradients on to it.
bool HasGradient(const Graph& graph, std::optional<Op> op,
                 absl::Span<const TensorId> operands, DType result) {
  if (!IsFloat(ComputeDType(result))) return false;
  auto has_gradient = [&](TensorId id) { return graph[id].has_gradient; };
  if (!op) return absl::c_any_of(operands, has_gradient);
  ExprPool pool;
  std::vector<Expr> leaves;
  for (TensorId id : operands) {
    leaves.push_back(MakeLeaf(pool, ComputeDType(graph[id].dtype),
                              static_cast<int>(leaves.size())));
  }
  Expr y = MakeLeaf(pool, ComputeDType(result), -1);
  Expr g = MakeLeaf(pool, ComputeDType(result), -2);
  const auto gradients = Gradients(*op, leaves, y, g);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (gradients[i] && has_gradient(operands[i])) return true;
  }
  return false;
}

// `where` may be that of an operation on the number.
TensorId AddNumber(Graph& graph, const Arg& number, DType dtype,
                   SourceLocation where) {
  const double value = std::get<double>(number.value);
  return graph.Add(
      {.source = NumberSource{value},
       .name = "",
       .text = number.digits.empty() ? NumberText(value) : number.digits,
       .dtype = dtype,
       .has_gradient = false,
       .where = where});
}

// Makes one node: operands first, then its checks, then Add. An error that is
// found on the way turns the node into an error node.
class Builder {
 public:
  explicit Builder(absl::Span<const Arg> args)
      : graph_(*FirstTensor(args).graph), where_(args[0].where) {
    DType literal = DType::kF32;  // that of the last tensor
    for (const Arg& arg : args) {
      const auto* tensor = std::get_if<Tensor>(&arg.value);
      if (tensor != nullptr) literal = tensor->node().dtype;
    }
    for (const Arg& arg : args) {
      const auto* tensor = std::get_if<Tensor>(&arg.value);
      if (tensor == nullptr) {
        ids_.push_back(AddNumber(graph_, arg, literal, where_));
      } else if (tensor->graph == &graph_) {
        ids_.push_back(tensor->id);
      } else {
        absl::Status error =
            TwoGraphs(FirstTensor(args).node(), tensor->node(), where_);
        ids_.push_back(ErrorTensor(graph_, std::move(error), where_).id);
      }
    }
  }

  Graph& graph() { return graph_; }
  const std::vector<TensorId>& ids() const { return ids_; }
  const TensorNode& operand(int i) const { return graph_[ids_[i]]; }

  // Makes the operands of `op` from number `first` on of one dtype if they can
  // be.
  void AdaptDTypes(std::optional<Op> op, size_t first, DType otherwise) {
    CountBools(graph_, op, first, where_, ids_);
    UniteDTypes(graph_, first, otherwise, where_, ids_);
  }

  // The node; the first error node among the operands stands in for it.
  Tensor Finish(TensorSource source, std::string text,
                const absl::StatusOr<DType>& dtype, std::optional<Op> op,
                Boxed<ShapeSpec> spec = {}) {
    for (TensorId id : ids_) {
      if (std::holds_alternative<ErrorSource>(graph_[id].source)) {
        return {&graph_, id};
      }
    }
    TensorNode node = {.source = std::move(source),
                       .name = "",
                       .text = std::move(text),
                       .dtype = dtype.value_or(DType::kF32),
                       .has_gradient = false,
                       .spec = std::move(spec),
                       .where = where_};
    graph_.SetPlace(node);
    if (dtype.ok()) {
      node.has_gradient = HasGradient(graph_, op, ids_, *dtype);
      const TensorNode& like = operand(ids_.size() - 1);
      if (like.open >= 0 && like.dtype == *dtype && op != Op::kConvert) {
        node.open = like.open;
      }
      for (TensorId id : ids_) {
        // A number that is used stays as it is.
        if (graph_[id].open == kFree) graph_.Decide(id, graph_[id].dtype, {});
      }
    } else {
      node.source = ErrorSource{absl::Status(
          dtype.status().code(), absl::StrCat("error in ", Describe(node), ": ",
                                              dtype.status().message()))};
    }
    return {&graph_, graph_.Add(std::move(node))};
  }

 private:
  Graph& graph_;
  SourceLocation where_;
  std::vector<TensorId> ids_;
};

Tensor PointwiseOf(Op op, absl::Span<const Arg> args,
                   std::optional<DType> wanted) {
  Builder builder(args);
  if (op != Op::kConvert && op != Op::kBitcast) {
    bool is_word = Info(op).typing == Typing::kWord;
    builder.AdaptDTypes(op, op == Op::kSelect ? 1 : 0,
                        is_word ? DType::kU32 : DType::kF32);
  }
  absl::StatusOr<DType> dtype =
      InferDType(builder.graph(), op, wanted, builder.ids());
  std::string text = PointwiseText(builder.graph(), op, wanted, builder.ids());
  ComputeSource source = {.op = op, .operands = builder.ids()};
  return builder.Finish(std::move(source), std::move(text), dtype, op);
}

// The value of a NumberSource or a literal.
std::optional<double> NumberOf(const Arg& arg) {
  if (const auto* literal = std::get_if<double>(&arg.value)) return *literal;
  const auto& node = std::get<Tensor>(arg.value).node();
  const auto* number = std::get_if<NumberSource>(&node.source);
  if (number == nullptr) return std::nullopt;
  return number->value;
}

Tensor MultipliedPower(const Arg& a, int exponent) {
  if (exponent == 1) return std::get<Tensor>(a.value);
  Tensor half = MultipliedPower(a, exponent / 2);
  Tensor square = Mul(Arg(half, a.where), Arg(half, a.where));
  return exponent % 2 == 0 ? square : Mul(Arg(square, a.where), a);
}

// The dtype of a reduction of terms of type `dtype`; `operand` is the first.
absl::StatusOr<DType> ReducedType(const absl::StatusOr<DType>& dtype,
                                  const TensorNode& operand,
                                  const absl::Status& spec) {
  OCANNL_RETURN_IF_ERROR(spec);
  OCANNL_RETURN_IF_ERROR(dtype.status());
  if (Accepts(Typing::kNumber, ComputeDType(*dtype))) return dtype;
  return UserError("a reduction takes numbers, not ", Name(*dtype),
                   "; convert them: ", ConversionText(operand, DType::kF32));
}

}  // namespace

Tensor Number(Graph& graph, const Arg& number) {
  return {&graph, AddNumber(graph, number, DType::kF32, number.where)};
}

Tensor Named(Tensor tensor, std::string name) {
  auto error = NameError(*tensor.graph, name, tensor.node().where);
  if (error) return *error;
  tensor.graph->Rename(tensor.id, std::move(name));
  return tensor;
}

std::optional<Tensor> NameError(Graph& graph, absl::string_view name,
                                SourceLocation where) {
  absl::string_view of = name;
  if (!absl::ConsumeSuffix(&of, kMergeSuffix)) return std::nullopt;
  return ErrorTensor(graph, name,
                     absl::StrCat("that is the name of `", of,
                                  "` in the merge buffer; choose another one"),
                     where);
}

absl::Status SetMemoryMode(Tensor tensor, MemoryMode mode,
                           SourceLocation where) {
  if (std::holds_alternative<ErrorSource>(tensor.node().source)) {
    return absl::OkStatus();
  }
  return tensor.graph->SetMemoryMode(tensor.id,
                                     AskedBy("SetMemoryMode", where, mode));
}

Tensor Pointwise(Op op, absl::Span<const Arg> args) {
  if (op == Op::kPow && std::holds_alternative<Tensor>(args[0].value)) {
    double exponent = NumberOf(args[1]).value_or(0);
    if (exponent >= 1 && exponent <= kMaxMultipliedPower &&
        exponent == std::floor(exponent)) {
      return MultipliedPower(args[0], static_cast<int>(exponent));
    }
  }
  return PointwiseOf(op, args, std::nullopt);
}

Tensor Compose(const Arg& a, const Arg& b) {
  Builder builder({a, b});
  builder.AdaptDTypes(Op::kMul, 0, DType::kF32);
  std::string text = ComposeText(builder.graph(), builder.ids());
  ComputeSource source = {.op = Op::kMul,
                          .accum = Op::kAdd,
                          .logic = ComputeSource::Compose(),
                          .operands = builder.ids()};
  absl::StatusOr<DType> dtype =
      InferDType(builder.graph(), Op::kMul, std::nullopt, builder.ids());
  return builder.Finish(std::move(source), std::move(text), dtype, Op::kMul);
}

Tensor Reduce(std::optional<Op> op, Op accum, absl::string_view spec,
              absl::Span<const Arg> args, const EinsumNumbers& numbers) {
  Builder builder(args);
  builder.AdaptDTypes(std::nullopt, op == Op::kSelect ? 1 : 0, DType::kF32);
  absl::StatusOr<EinsumSpec> parsed =
      ParseEinsum(spec, static_cast<int>(args.size()), numbers);
  absl::Status status = parsed.status();
  const bool is_product = op == Op::kMul && args.size() > 2;
  if (is_product && accum != Op::kAdd) {
    status = absl::InvalidArgumentError(
        "products of more than two are only summed; multiply some of them "
        "first");
  } else if (op && args.size() > kMostFactors) {
    status = UserError("it has ", args.size(), " operands, and the most are ",
                       kMostFactors, "; multiply some of them first");
  } else if (status.ok()) {
    status = PiecesOf(*parsed, /*one_at_a_time=*/!op).status();
    if (!status.ok()) status = WithSpec(status, spec);
  }
  // A product of any number of operands has their type and passes gradients.
  const std::optional<Op> typed = is_product ? std::nullopt : op;
  absl::StatusOr<DType> dtype =
      InferDType(builder.graph(), typed, std::nullopt, builder.ids());
  std::string text =
      ReduceText(builder.graph(), op, accum, spec, builder.ids());
  ComputeSource source = {.op = op,
                          .accum = accum,
                          .logic = parsed.value_or(EinsumSpec()),
                          .operands = builder.ids()};
  return builder.Finish(std::move(source), std::move(text),
                        ReducedType(dtype, builder.operand(0), status), typed);
}

Tensor Einsum(absl::string_view spec, absl::Span<const Arg> args,
              const EinsumNumbers& numbers) {
  std::optional<Op> op = Op::kMul;
  if (args.size() == 1) op = std::nullopt;
  if (args.size() == 3) op = Op::kMul3;
  return Reduce(op, Op::kAdd, spec, args, numbers);
}

Tensor Slice(const Arg& a, int32_t static_index) {
  Builder builder({a});
  Graph& graph = builder.graph();
  const TensorNode& of = builder.operand(0);
  if (static_cast<size_t>(static_index) >= graph.statics().size()) {
    return ErrorTensor(
        graph, SliceText(of, absl::StrCat(static_index)),
        "no static index has that number; give that of AddStatic", a.where);
  }
  return builder.Finish(
      SliceSource{.of = builder.ids()[0], .static_index = static_index},
      SliceText(of, graph.statics()[static_index].name), of.dtype,
      std::nullopt);
}

Tensor Reshape(const Arg& a, const Shape& shape) {
  Builder builder({a});
  const TensorNode& of = builder.operand(0);
  absl::StatusOr<DType> dtype = of.dtype;
  ShapeSpec spec;
  int open = 0;
  for (RowKind kind : kRowKinds) {
    spec[kind] = shape[kind];
    for (int64_t size : shape[kind]) {
      open += size == 0;
      if (size < 0) dtype = absl::InvalidArgumentError("a size is below 0");
    }
  }
  if (open > 1) {
    dtype =
        absl::InvalidArgumentError("several sizes are open; give all but one");
  }
  return builder.Finish(ReshapeSource{.of = builder.ids()[0]},
                        ReshapeText(of, shape), dtype, std::nullopt, spec);
}

Tensor Convert(const Arg& a, DType dtype) {
  const Tensor of = FirstTensor({a});
  auto id = WithAllDigits(*of.graph, of.id, dtype);
  if (!id.ok()) return ErrorTensor(*of.graph, id.status(), a.where);
  return PointwiseOf(Op::kConvert, {{Tensor{of.graph, *id}, a.where}}, dtype);
}

Tensor InDType(Tensor tensor, DType dtype, SourceLocation where) {
  DecideDType(*tensor.graph, tensor.id, dtype);
  return tensor.node().dtype == dtype ? tensor
                                      : Convert(Arg(tensor, where), dtype);
}

DType DecidedDType(Tensor tensor) {
  DecideDType(*tensor.graph, tensor.id, tensor.node().dtype);
  return tensor.node().dtype;
}

Tensor Bitcast(const Arg& a, DType dtype) {
  const Tensor of = FirstTensor({a});
  DecideDType(*of.graph, of.id, of.node().dtype);
  return PointwiseOf(Op::kBitcast, {a}, dtype);
}

Tensor Where(const Arg& condition, const Arg& a, const Arg& b) {
  const auto* tensor = std::get_if<Tensor>(&condition.value);
  if (tensor != nullptr && tensor->node().dtype == DType::kBool) {
    return Select(condition, a, b);
  }
  Graph& graph = *FirstTensor({condition, a, b}).graph;
  const Arg number(tensor != nullptr ? *tensor : Number(graph, condition),
                   condition.where);
  return Select(Arg(NotEqual(number, 0), condition.where), a, b);
}

Tensor StopGradient(const Arg& a) {
  const Tensor tensor = FirstTensor({a});
  const TensorNode& of = tensor.node();
  if (!of.has_gradient) return tensor;
  Tensor result = PointwiseOf(Op::kBitcast, {a}, of.dtype);
  result.graph->SetText(result.id,
                        absl::StrCat("stop_gradient(", OperandText(of), ")"));
  return result;
}

Tensor ErrorTensor(Graph& graph, absl::Status status, SourceLocation where) {
  CHECK(!status.ok());
  TensorId id = graph.Add({.source = ErrorSource{std::move(status)},
                           .name = "",
                           .text = "error",
                           .dtype = DType::kF32,
                           .has_gradient = false,
                           .where = where});
  return {&graph, id};
}

Tensor ErrorTensor(Graph& graph, absl::string_view text,
                   absl::string_view error, SourceLocation where) {
  TensorNode node = {.source = NumberSource{0},
                     .name = "",
                     .text = std::string(text),
                     .dtype = DType::kF32,
                     .has_gradient = false,
                     .where = where};
  graph.SetPlace(node);
  return ErrorTensor(graph, UserError("error in ", Describe(node), ": ", error),
                     where);
}

}  // namespace ocannl
