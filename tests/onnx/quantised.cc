// SPDX-License-Identifier: Apache-2.0
//
// Numbers as u8 cells: (cell - zero point) * scale. Of i8 there is none.

#include "tests/onnx/rules.h"

namespace ocannl::onnx {
namespace {

// The cells less the zero point, if there is one, which input `zero` is.
Value Centred(const OpCall& call, const Value& x, size_t zero) {
  const Value wide = Cast(x, DType::kI32);
  return call.Has(zero) ? wide - Cast(call[zero], DType::kI32) : wide;
}

// The numbers of input `k`, with its scale and zero point behind it.
Value Numbers(const OpCall& call, size_t k) {
  return Cast(Centred(call, call[k], k + 2), DType::kF32) * call[k + 1];
}

Value Quantized(const Value& x, const Value& scale, const Value& zero) {
  const Value cells = Round(x / scale) + Cast(zero, DType::kF32);
  return Cast(Min(Max(cells, 0), 255), DType::kU8);
}

// One number, or one for each cell of an axis of `x`.
Value AlongAxis(const OpCall& call, const Value& numbers) {
  const Value& x = call[0];
  if (NumElements(numbers.dims) == 1) return Reshape(numbers, {});
  Dims dims(x.rank(), 1);
  dims[Axis(call.Whole("axis", 1), x.rank())] = numbers.dims[0];
  return Reshape(numbers, dims);
}

absl::StatusOr<Outputs> QuantizeRule(const OpCall& call) {
  const Value zero = call.Has(2) ? AlongAxis(call, call[2])
                                 : Filled(call.graph(), {}, 0, DType::kU8);
  return Quantized(call[0], AlongAxis(call, call[1]), zero);
}

absl::StatusOr<Outputs> DequantizeRule(const OpCall& call) {
  Value cells = Cast(call[0], DType::kI32);
  if (call.Has(2)) {
    cells = cells - Cast(AlongAxis(call, call[2]), DType::kI32);
  }
  return Cast(cells, DType::kF32) * AlongAxis(call, call[1]);
}

// The scale that fits all numbers and 0.
absl::StatusOr<Outputs> DynamicRule(const OpCall& call) {
  const Value flat = Reshape(call[0], {NumElements(call[0].dims)});
  auto greatest = [](const Value& x) {
    return Max(Reshape(ReduceAxes(Op::kMax, x, {0}), {}), 0);
  };
  const Value most = greatest(flat), below = greatest(Neg(flat));
  const Value scale = (most + below) / 255.0;
  const Value zero = Cast(Min(Max(Round(below / scale), 0), 255), DType::kU8);
  return Outputs{Quantized(call[0], scale, zero), scale, zero};
}

}  // namespace

std::vector<OpRule> QuantisedRules() {
  return {{"QuantizeLinear", QuantizeRule},
          {"DequantizeLinear", DequantizeRule},
          {"DynamicQuantizeLinear", DynamicRule},
          {"MatMulInteger",
           [](const OpCall& call) {
             return MatrixProduct(Centred(call, call[0], 2),
                                  Centred(call, call[1], 3));
           }},
          {"ConvInteger",
           [](const OpCall& call) {
             return Convolution(call, Centred(call, call[0], 2),
                                Centred(call, call[1], 3));
           }},
          {"QLinearMatMul",
           [](const OpCall& call) {
             return Quantized(MatrixProduct(Numbers(call, 0), Numbers(call, 3)),
                              call[6], call[7]);
           }},
          {"QLinearConv", [](const OpCall& call) {
             return Quantized(
                 Convolution(call, Numbers(call, 0), Numbers(call, 3)), call[6],
                 call[7]);
           }}};
}

}  // namespace ocannl::onnx
