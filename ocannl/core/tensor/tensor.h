// SPDX-License-Identifier: Apache-2.0
//
// Tensor: a node of a graph as a value, with operators: how C++ users write
// tensor expressions.
//
//   Tensor h = Relu(b1 + w1 * x);                      // * multiplies tensors
//   Tensor z = 1 - x / 2 + 3 * x;                      // numbers on any side
//   Tensor loss = Einsum1("...|... => 0", Relu(1 - PointMul(y, h))) / 10;
//
// Numbers in an expression take the dtype of the tensors beside them, and so do
// leaves that say none (open_dtype.h). Nothing
// here fails: a wrong expression is an error node, and InferShapes reports it
// with the place where it was made. An operation on tensors of two graphs is
// one of the first graph.
#ifndef OCANNL_CORE_TENSOR_TENSOR_H_
#define OCANNL_CORE_TENSOR_TENSOR_H_

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/einsum/einsum_axis.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/memory_mode.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

struct Tensor {
  Graph* graph;
  TensorId id;

  const TensorNode& node() const { return (*graph)[id]; }
};

// An operand: a tensor or a number, and where it was written.
struct Arg {
  Arg(Tensor tensor,  // NOLINT
      SourceLocation at = SourceLocation::Current())
      : value(tensor), where(at) {}
  template <class T>
  requires std::is_arithmetic_v<T> Arg(
      T number,  // NOLINT
      SourceLocation at = SourceLocation::Current())
      : value(static_cast<double>(number)), where(at) {
    if constexpr (std::is_integral_v<T>) {
      if (std::abs(std::get<double>(value)) >= 0x1p53) {
        digits = absl::StrCat(number);
      }
    }
  }

  std::variant<Tensor, double> value;
  SourceLocation where;
  std::string digits = "";  // of an integer that `value` may round
};

// A number, f32 unless the tensors beside it are of another dtype. CHECK-fails
// if `number` is a tensor.
Tensor Number(Graph& graph, const Arg& number);
template <class T>
requires std::is_arithmetic_v<T> Tensor Number(
    Graph& graph, T value, SourceLocation where = SourceLocation::Current()) {
  return Number(graph, Arg(value, where));
}

// The tensor, with `name` if nothing else has it, else with a number appended.
Tensor Named(Tensor tensor, std::string name);

// The error node of a tensor that is to have a `name` which only what is in the
// merge buffer has; null: any tensor may have it.
std::optional<Tensor> NameError(Graph& graph, absl::string_view name,
                                SourceLocation where);

// Asks for where the values of the tensor live; of an error node, for nothing.
// Error: this contradicts what was asked for before, or what the tensor is; it
// names both.
absl::Status SetMemoryMode(Tensor tensor, MemoryMode mode,
                           SourceLocation where = SourceLocation::Current());

// op of each element, broadcasting; at least one operand is a tensor. Convert
// and Bitcast, which need a dtype, are below. A power with a small whole
// exponent becomes multiplications.
Tensor Pointwise(Op op, absl::Span<const Arg> args);

// Sums products: over the input axes of `a` and the output axes of `b`.
Tensor Compose(const Arg& a, const Arg& b);

// accum of op(args...) over the axes that the result of `spec` leaves out;
// without `op`, of the operand itself: of several, of each for the cells that
// its part of a concatenation has. kMul of more than two, up to
// kMostFactors, is the product of all, for sums. `numbers` are the names that
// the spec may have in the place of numbers.
inline constexpr size_t kMostFactors = 64;
Tensor Reduce(std::optional<Op> op, Op accum, absl::string_view spec,
              absl::Span<const Arg> args, const EinsumNumbers& numbers = {});

// The element of the leftmost batch axis at the value of a static index.
Tensor Slice(const Arg& a, int32_t static_index);

// The elements as `dtype`: exact where possible, else rounded to nearest even.
Tensor Convert(const Arg& a, DType dtype);
// The same, but the tensor itself if it is of `dtype` or open (open_dtype.h).
Tensor InDType(Tensor tensor, DType dtype,
               SourceLocation where = SourceLocation::Current());
// The dtype of the tensor, which is no longer open.
DType DecidedDType(Tensor tensor);
// The same bits read as `dtype`, which has the same size.
Tensor Bitcast(const Arg& a, DType dtype);

// `a` where the condition is true, or a number that is not 0, else `b`.
Tensor Where(const Arg& condition, const Arg& a, const Arg& b);

// The cells of `a`, in memory order, in another shape. An axis of size 0 takes
// what the others leave; there is at most one.
Tensor Reshape(const Arg& a, const Shape& shape);

// The same tensor, through which no gradient flows.
Tensor StopGradient(const Arg& a);

// An error node: for those who build expressions from other text forms.
Tensor ErrorTensor(Graph& graph, absl::Status status, SourceLocation where);
// The same, for what is wrong with the expression `text`.
Tensor ErrorTensor(Graph& graph, absl::string_view text,
                   absl::string_view error, SourceLocation where);

// One function per op of ops.def, by its arity: Relu(x), Max(a, b), ...
#define OCANNL_POINTWISE_1(name) \
  inline Tensor name(const Arg& a) { return Pointwise(Op::k##name, {a}); }
#define OCANNL_POINTWISE_2(name)                   \
  inline Tensor name(const Arg& a, const Arg& b) { \
    return Pointwise(Op::k##name, {a, b});         \
  }
#define OCANNL_POINTWISE_3(name)                                 \
  inline Tensor name(const Arg& a, const Arg& b, const Arg& c) { \
    return Pointwise(Op::k##name, {a, b, c});                    \
  }
#define OCANNL_POINTWISE_6(name)                                             \
  inline Tensor name(const Arg& a, const Arg& b, const Arg& c, const Arg& d, \
                     const Arg& e, const Arg& f) {                           \
    return Pointwise(Op::k##name, {a, b, c, d, e, f});                       \
  }
#define PRIMITIVE(name, text, arity, ...) OCANNL_POINTWISE_##arity(name)
#define DERIVED(name, text, arity, ...) OCANNL_POINTWISE_##arity(name)
#include "ocannl/core/ops/ops.def"
#undef PRIMITIVE
#undef DERIVED
#undef OCANNL_POINTWISE_1
#undef OCANNL_POINTWISE_2
#undef OCANNL_POINTWISE_3
#undef OCANNL_POINTWISE_6

inline Tensor operator+(const Arg& a, const Arg& b) { return Add(a, b); }
inline Tensor operator-(const Arg& a, const Arg& b) { return Sub(a, b); }
// Compose, but with a scalar (HasScalar, scalars.h) PointMul: 2 * x, x * 2.
Tensor operator*(const Arg& a, const Arg& b);
inline Tensor operator/(const Arg& a, const Arg& b) { return Div(a, b); }
inline Tensor operator-(const Arg& a) { return Neg(a); }
inline Tensor PointMul(const Arg& a, const Arg& b) { return Mul(a, b); }

// Sum of a * b, of a, of a + b; greatest a, a + b; sum of the product of all,
// which of four or more is of products of two in the order that costs least
// (contraction_order.h); a concatenation: over the axes that the result of the
// spec leaves out. In notation: +* ++ +++ @^^ @^+ +* ++^
inline Tensor Einsum(absl::string_view spec, const Arg& a, const Arg& b,
                     const EinsumNumbers& numbers = {}) {
  return Reduce(Op::kMul, Op::kAdd, spec, {a, b}, numbers);
}
inline Tensor Einsum1(absl::string_view spec, const Arg& a,
                      const EinsumNumbers& numbers = {}) {
  return Reduce(std::nullopt, Op::kAdd, spec, {a}, numbers);
}
inline Tensor OuterSum(absl::string_view spec, const Arg& a, const Arg& b,
                       const EinsumNumbers& numbers = {}) {
  return Reduce(Op::kAdd, Op::kAdd, spec, {a, b}, numbers);
}
inline Tensor EinMax1(absl::string_view spec, const Arg& a,
                      const EinsumNumbers& numbers = {}) {
  return Reduce(std::nullopt, Op::kMax, spec, {a}, numbers);
}
inline Tensor Tropical(absl::string_view spec, const Arg& a, const Arg& b,
                       const EinsumNumbers& numbers = {}) {
  return Reduce(Op::kAdd, Op::kMax, spec, {a, b}, numbers);
}
Tensor Einsum(absl::string_view spec, absl::Span<const Arg> args,
              const EinsumNumbers& numbers = {});
inline Tensor Concat(absl::string_view spec, absl::Span<const Arg> args,
                     const EinsumNumbers& numbers = {}) {
  return Reduce(std::nullopt, Op::kAdd, spec, args, numbers);
}

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_TENSOR_H_
