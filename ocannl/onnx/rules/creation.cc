// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/onnx/rules/rules.h"

namespace ocannl::onnx {
namespace {

// A larger array of equal numbers is code.
constexpr int64_t kMostFilledBytes = int64_t{1} << 22;

absl::StatusOr<Outputs> ConstantRule(const OpCall& call) {
  Graph& graph = call.graph();
  Require(!call.node.attributes.empty(), "it has no value");
  const auto& [name, attribute] = *call.node.attributes.begin();
  if (name == "value") return Constant(graph, call.Array(name));
  if (name == "value_int") {
    return Constant(graph, NdArray::Of<int64_t>({}, {attribute.whole}));
  }
  if (name == "value_float") {
    return Filled(graph, {}, attribute.number, DType::kF32);
  }
  const auto count = static_cast<int64_t>(attribute.wholes.size());
  if (name == "value_ints") {
    return Constant(graph, NdArray::Of<int64_t>({count}, attribute.wholes));
  }
  if (name == "value_floats") {
    const std::vector<float> numbers(attribute.numbers.begin(),
                                     attribute.numbers.end());
    return Constant(
        graph,
        NdArray::Of<float>({static_cast<int64_t>(numbers.size())}, numbers));
  }
  return absl::UnimplementedError(name);
}

absl::StatusOr<Outputs> ConstantOfShapeRule(const OpCall& call) {
  OCANNL_ASSIGN_OR_RETURN(Dims dims, call.WholeElements(0));
  NdArray value(DType::kF32, {1});
  if (call.HasAttribute("value")) value = call.Array("value");
  Require(value.size() == 1, "attribute value has ", value.size(), " cells");
  const double number = value.AsDouble(0);
  // Many cells would take memory; a double does not hold each integer.
  const absl::StatusOr<int64_t> bytes = ByteSize(value.dtype(), dims);
  const bool is_large = !bytes.ok() || *bytes > kMostFilledBytes;
  if (is_large || (IsInteger(value.dtype()) && std::abs(number) > 0x1p52)) {
    return Expand(Reshape(Constant(call.graph(), value), {}), dims);
  }
  return Filled(call.graph(), dims, number, value.dtype());
}

absl::StatusOr<Outputs> ShapeRule(const OpCall& call) {
  const Dims& dims = call[0].dims;
  const int rank = call[0].rank();
  auto place = [&](const std::string& name, int64_t otherwise) {
    const int64_t axis = call.Whole(name, otherwise);
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t start = place("start", 0);
  const int64_t end = std::max(start, place("end", rank));
  return Constant(call.graph(),
                  NdArray::Of<int64_t>({end - start}, {dims.begin() + start,
                                                       dims.begin() + end}));
}

absl::StatusOr<Outputs> SizeRule(const OpCall& call) {
  return Constant(call.graph(),
                  NdArray::Of<int64_t>({}, {NumElements(call[0].dims)}));
}

absl::StatusOr<Outputs> RangeRule(const OpCall& call) {
  OCANNL_ASSIGN_OR_RETURN(NdArray start, call.Elements(0));
  OCANNL_ASSIGN_OR_RETURN(NdArray limit, call.Elements(1));
  OCANNL_ASSIGN_OR_RETURN(NdArray delta, call.Elements(2));
  for (const NdArray* one : {&start, &limit, &delta}) {
    Require(one->size() == 1, "a bound of ", one->size(), " cells");
  }
  const double steps =
      std::ceil((limit.AsDouble(0) - start.AsDouble(0)) / delta.AsDouble(0));
  Require(std::abs(steps) < 0x1p52, "a range of ", steps, " steps");
  const Value at =
      Iota(call.graph(), std::max<int64_t>(0, static_cast<int64_t>(steps)));
  return call[0] + Cast(at, call[0].dtype()) * call[2];
}

// Whether each cell of a matrix lies on, or also to the right of, a diagonal:
// `offset` cells to the right of the one that begins in the corner.
Value FromDiagonal(Graph& graph, Op op, int64_t rows, int64_t columns,
                   int64_t offset) {
  const Value row = Reshape(Iota(graph, rows), {rows, 1});
  return Map(op, {row + static_cast<double>(offset), Iota(graph, columns)});
}

absl::StatusOr<Outputs> EyeLikeRule(const OpCall& call) {
  const Value& x = call[0];
  DType dtype = x.dtype();
  if (call.HasAttribute("dtype")) {
    OCANNL_ASSIGN_OR_RETURN(dtype, DTypeOfCode(call.Whole("dtype", 0)));
  }
  return Cast(FromDiagonal(call.graph(), Op::kEqual, x.dim(0), x.dim(1),
                           call.Whole("k", 0)),
              dtype);
}

absl::StatusOr<Outputs> TriluRule(const OpCall& call) {
  const Value& x = call[0];
  int64_t offset = 0;
  if (call.Has(1)) {
    OCANNL_ASSIGN_OR_RETURN(Numbers k, call.WholeElements(1));
    Require(k.size() == 1, "input 1 has ", k.size(), " cells");
    offset = k[0];
  }
  const bool upper = call.Whole("upper", 1) != 0;
  const Value right =
      FromDiagonal(call.graph(), Op::kLessEqual, x.dim(x.rank() - 2),
                   x.dim(x.rank() - 1), upper ? offset : offset + 1);
  return Select(upper ? right : Not(right), x, 0);
}

// a - b cos(t) + c cos(2t) over a whole turn.
Rule WindowRule(double a, double b, double c) {
  return [=](const OpCall& call) -> absl::StatusOr<Outputs> {
    OCANNL_ASSIGN_OR_RETURN(Numbers size, call.WholeElements(0));
    Require(size.size() == 1, "input 0 has ", size.size(), " cells");
    const int64_t steps =
        call.Whole("periodic", 1) != 0 ? size[0] : size[0] - 1;
    const double turn = 6.283185307179586 / static_cast<double>(steps);
    const Value t = Cast(Iota(call.graph(), size[0]), DType::kF32) * turn;
    return a - b * Cos(t) + c * Cos(2.0 * t);
  };
}

}  // namespace

std::vector<OpRule> CreationRules() {
  return {{"Constant", ConstantRule},
          {"ConstantOfShape", ConstantOfShapeRule},
          {"Shape", ShapeRule},
          {"Size", SizeRule},
          {"Range", RangeRule},
          {"EyeLike", EyeLikeRule},
          {"Trilu", TriluRule},
          {"HannWindow", WindowRule(0.5, 0.5, 0)},
          {"HammingWindow", WindowRule(25.0 / 46, 21.0 / 46, 0)},
          {"BlackmanWindow", WindowRule(0.42, 0.5, 0.08)}};
}

}  // namespace ocannl::onnx
