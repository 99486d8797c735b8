// SPDX-License-Identifier: Apache-2.0
//
// Numbers as cells of u8, u16, f8e4m3 or f8e5m2: (cell - zero point) * scale.

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/onnx/rules/rules.h"

namespace ocannl::onnx {
namespace {

// One number, or one for each cell of the first axis of `x`.
Value ForFirstAxis(const Value& numbers, const Value& x) {
  if (NumElements(numbers.dims) == 1) return Reshape(numbers, {});
  return Along(numbers, 0, x.rank());
}

// The cells less the zero point, if there is one, which input `zero` is.
Value Centred(const OpCall& call, const Value& x, size_t zero) {
  const Value wide = Cast(x, DType::kI32);
  if (!call.Has(zero)) return wide;
  return wide - ForFirstAxis(Cast(call[zero], DType::kI32), x);
}

// The numbers of input `k`, with its scale and zero point behind it.
Value RealNumbers(const OpCall& call, size_t k) {
  return Cast(Centred(call, call[k], k + 2), DType::kF32) *
         Cast(ForFirstAxis(call[k + 1], call[k]), DType::kF32);
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

// In the dtype of the zero point, to the nearest cell that it has. Without
// `saturate`, large numbers are no finite floats of 8 bits.
Value Quantized(const Value& x, const Value& scale, const Value& zero,
                bool saturate = true) {
  const DType dtype = zero.dtype();
  const Value scaled = Cast(x, DType::kF32) / Cast(scale, DType::kF32);
  if (!IsInteger(dtype)) {
    return saturate ? Saturated(scaled, dtype) : Cast(scaled, dtype);
  }
  const Value cells = Round(scaled) + Cast(zero, DType::kF32);
  const double most = dtype == DType::kU16 ? 65535 : 255;
  return Cast(Min(Max(cells, 0), most), dtype);
}

// Integers of 32 bits are not a dtype of quantised cells.
absl::Status CheckCells(DType dtype) {
  for (DType known :
       {DType::kU8, DType::kU16, DType::kF8E4M3, DType::kF8E5M2}) {
    if (dtype == known) return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat("cells of ", Name(dtype)));
}

// One number, or one for each cell of an axis of `x`.
Value AlongAxis(const OpCall& call, const Value& numbers) {
  const Value& x = call[0];
  if (NumElements(numbers.dims) == 1) return Reshape(numbers, {});
  return Along(numbers, call.AxisOf(1, x.rank()), x.rank());
}

absl::StatusOr<Outputs> QuantizeRule(const OpCall& call) {
  DType dtype = DType::kU8;
  if (call.Whole("output_dtype", 0) != 0) {
    OCANNL_ASSIGN_OR_RETURN(dtype, DTypeOfCode(call.Whole("output_dtype", 0)));
  }
  const Value zero = call.Has(2) ? AlongAxis(call, call[2])
                                 : Filled(call.graph(), {}, 0, dtype);
  OCANNL_RETURN_IF_ERROR(CheckCells(zero.dtype()));
  return Quantized(call[0], AlongAxis(call, call[1]), zero,
                   call.Whole("saturate", 1) != 0);
}

absl::StatusOr<Outputs> DequantizeRule(const OpCall& call) {
  const DType dtype = IsInteger(call[0].dtype()) ? DType::kI32 : DType::kF32;
  Value cells = Cast(call[0], dtype);
  if (call.Has(2)) cells = cells - Cast(AlongAxis(call, call[2]), dtype);
  const Value scale = AlongAxis(call, call[1]);
  DType to = scale.dtype();
  if (call.Whole("output_dtype", 0) != 0) {
    OCANNL_ASSIGN_OR_RETURN(to, DTypeOfCode(call.Whole("output_dtype", 0)));
  }
  return Cast(Cast(cells, DType::kF32) * Cast(scale, DType::kF32), to);
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
  OCANNL_RETURN_IF_ERROR(CheckCells(call[7].dtype()));
  return Quantized(MatrixProduct(RealNumbers(call, 0), RealNumbers(call, 3)),
                   call[6], call[7]);
}

absl::StatusOr<Outputs> QLinearConvRule(const OpCall& call) {
  OCANNL_RETURN_IF_ERROR(AreSingle(call, {1, 2, 6, 7}));
  OCANNL_RETURN_IF_ERROR(CheckCells(call[7].dtype()));
  return Quantized(
      Convolution(call, RealNumbers(call, 0), RealNumbers(call, 3)), call[6],
      call[7]);
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
