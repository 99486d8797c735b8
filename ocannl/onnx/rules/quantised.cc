// SPDX-License-Identifier: Apache-2.0
//
// Numbers as u8 cells: (cell - zero point) * scale. Of i8 there is none.

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/onnx/rules/rules.h"

namespace ocannl::onnx {
namespace {

// One number, or one for each cell of the first axis of `x`.
Value ForFirstAxis(const Value& numbers, const Value& x) {
  if (NumElements(numbers.dims) == 1) return Reshape(numbers, {});
  Dims dims(x.rank(), 1);
  dims[0] = numbers.dim(0);
  return Reshape(numbers, dims);
}

// The cells less the zero point, if there is one, which input `zero` is.
Value Centred(const OpCall& call, const Value& x, size_t zero) {
  const Value wide = Cast(x, DType::kI32);
  if (!call.Has(zero)) return wide;
  return wide - ForFirstAxis(Cast(call[zero], DType::kI32), x);
}

// The numbers of input `k`, with its scale and zero point behind it.
Value Numbers(const OpCall& call, size_t k) {
  return Cast(Centred(call, call[k], k + 2), DType::kF32) *
         ForFirstAxis(call[k + 1], call[k]);
}

// Whether each of the inputs is left out or one number: for each column of a
// matrix, or for each cell of a result, there is no rule.
absl::Status AreSingle(const OpCall& call, const std::vector<size_t>& inputs) {
  for (size_t k : inputs) {
    if (!call.Has(k) || NumElements(call[k].dims) == 1) continue;
    return absl::UnimplementedError(absl::StrCat("numbers of input ", k));
  }
  return absl::OkStatus();
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
  dims[call.AxisOf(1, x.rank())] = numbers.dim(0);
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

absl::StatusOr<Outputs> MatMulIntegerRule(const OpCall& call) {
  OCANNL_RETURN_IF_ERROR(AreSingle(call, {3}));
  return MatrixProduct(Centred(call, call[0], 2), Centred(call, call[1], 3));
}

absl::StatusOr<Outputs> ConvIntegerRule(const OpCall& call) {
  OCANNL_RETURN_IF_ERROR(AreSingle(call, {2}));
  return Convolution(call, Centred(call, call[0], 2),
                     Centred(call, call[1], 3));
}

absl::StatusOr<Outputs> QLinearMatMulRule(const OpCall& call) {
  OCANNL_RETURN_IF_ERROR(AreSingle(call, {4, 5, 6, 7}));
  return Quantized(MatrixProduct(Numbers(call, 0), Numbers(call, 3)), call[6],
                   call[7]);
}

absl::StatusOr<Outputs> QLinearConvRule(const OpCall& call) {
  OCANNL_RETURN_IF_ERROR(AreSingle(call, {1, 2, 6, 7}));
  return Quantized(Convolution(call, Numbers(call, 0), Numbers(call, 3)),
                   call[6], call[7]);
}

}  // namespace

std::vector<OpRule> QuantisedRules() {
  return {{"QuantizeLinear", QuantizeRule},
          {"DequantizeLinear", DequantizeRule},
          {"DynamicQuantizeLinear", DynamicRule},
          {"MatMulInteger", MatMulIntegerRule},
          {"ConvInteger", ConvIntegerRule},
          {"QLinearMatMul", QLinearMatMulRule},
          {"QLinearConv", QLinearConvRule}};
}

}  // namespace ocannl::onnx
