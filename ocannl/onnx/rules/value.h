// SPDX-License-Identifier: Apache-2.0
//
// Value: a tensor whose dims are known, as ONNX has them: all axes in one row.
// Functions of values compute the dims of their results themselves; the import
// compares them with the dims that the engine infers. No tensor of the engine
// has an axis of 0 cells: the tensor of such a value has an axis of 1 cell,
// which nothing reads.
//
//   Value shifted = x - Reduce({}, Op::kMax, {{x, {"n", "c"}}}, {"n", "0"});
//
// These functions and rules throw Misfit where a model contradicts itself. The
// import catches it: no exception leaves this folder.
#ifndef OCANNL_ONNX_RULES_VALUE_H_
#define OCANNL_ONNX_RULES_VALUE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::onnx {

// Why the parts of a model do not fit, without the place.
struct Misfit {
  std::string message;
};

// Throws a Misfit unless `holds`.
template <class... Parts>
void Require(bool holds, const Parts&... parts) {
  if (!holds) throw Misfit{absl::StrCat(parts...)};
}

// A vector whose operator [] throws a Misfit beyond the end: numbers and axes
// of a damaged model are fewer than others say.
template <class T>
struct Checked : std::vector<T> {
  using std::vector<T>::vector;

  T& operator[](size_t k) {
    Require(k < this->size(), "number ", k, " of ", this->size());
    return std::vector<T>::operator[](k);
  }
  const T& operator[](size_t k) const { return const_cast<Checked&>(*this)[k]; }
};
using Numbers = Checked<int64_t>;

struct Value {
  Value(Tensor made, Dims its_dims) : arg(made), dims(std::move(its_dims)) {}
  Value(double number) : arg(number) {}  // NOLINT

  Tensor tensor() const { return std::get<Tensor>(arg.value); }
  DType dtype() const { return tensor().node().dtype; }
  int rank() const { return static_cast<int>(dims.size()); }
  int64_t cells() const { return NumElements(dims); }
  // The size of axis `axis`. Misfit: there is no such axis.
  int64_t dim(int64_t axis) const;
  // The sizes of axes [begin, end). Misfit: there are not so many.
  Dims between(int64_t begin, int64_t end) const;
  // Whether the value is the same in all runs and no parameter.
  bool is_constant() const { return known != nullptr && !is_parameter; }

  Arg arg;
  Dims dims;
  // The cells, if they are known at import: of constants, of what is computed
  // from constants, and of parameters as they are in the file.
  std::shared_ptr<const NdArray> known = nullptr;
  bool is_parameter = false;
};

// A constant of the graph; if it has no cells, its elements do not matter.
Value Constant(Graph& graph, NdArray array);
// A parameter of the graph whose first value is the array, which has cells.
Value Parameter(Graph& graph, std::string name, NdArray array);
// All cells are `number`; cell i along the only axis is i, an i64. Misfit: more
// than kMostConstantBytes.
Value Filled(Graph& graph, Dims dims, double number, DType dtype);
Value Iota(Graph& graph, int64_t size);

// Constants that are not in the file may not have more: dims of a damaged model
// would ask for any amount of memory. Other arrays of the graph may have up to
// kMostBytes.
inline constexpr int64_t kMostConstantBytes = int64_t{1} << 28;
inline constexpr int64_t kMostBytes = int64_t{1} << 40;

// The cells as `dtype`, converted as the engine does.
NdArray Converted(const NdArray& array, DType dtype);

// The dims that arrays of both broadcast to, from the right. Misfit: they do
// not.
Dims BroadcastDims(Dims a, const Dims& b);

// op of each cell; dims broadcast from the right. Numbers take the dtype of the
// others. Misfit: dims that do not broadcast.
Value Map(Op op, const std::vector<Value>& args);
Value Cast(const Value& a, DType dtype);
// The same, but what is beyond the finite numbers of a float of 8 bits becomes
// the greatest or least of them.
Value Saturated(const Value& a, DType dtype);

#define OCANNL_VALUE_1(name) \
  inline Value name(const Value& a) { return Map(Op::k##name, {a}); }
#define OCANNL_VALUE_2(name)                          \
  inline Value name(const Value& a, const Value& b) { \
    return Map(Op::k##name, {a, b});                  \
  }
#define OCANNL_VALUE_3(name)                                          \
  inline Value name(const Value& a, const Value& b, const Value& c) { \
    return Map(Op::k##name, {a, b, c});                               \
  }
#define OCANNL_VALUE_6(name)
#define PRIMITIVE(name, text, arity, ...) OCANNL_VALUE_##arity(name)
#define DERIVED(name, text, arity, ...) OCANNL_VALUE_##arity(name)
#include "ocannl/core/ops/ops.def"
#undef PRIMITIVE
#undef DERIVED
#undef OCANNL_VALUE_1
#undef OCANNL_VALUE_2
#undef OCANNL_VALUE_3
#undef OCANNL_VALUE_6

inline Value operator+(const Value& a, const Value& b) { return Add(a, b); }
inline Value operator-(const Value& a, const Value& b) { return Sub(a, b); }
inline Value operator*(const Value& a, const Value& b) { return Mul(a, b); }
inline Value operator/(const Value& a, const Value& b) { return Div(a, b); }

// The axes of one operand or of a result, each as in a spec: "c", "2*o<+k",
// "a^b"; "0" is an axis of one cell.
using Axes = Checked<std::string>;
// Names that no operand has as an axis of its own, and their sizes.
using NameSizes = std::map<std::string, int64_t>;
struct Term {
  Value value;
  Axes axes;
};

// "a0", "a1", ...
Axes AxisNames(int rank);
// The spec of the terms and the dims of its result.
std::string SpecOf(const std::vector<Term>& terms, const Axes& result);
Dims DimsOf(const std::vector<Term>& terms, const Axes& result,
            const NameSizes& sizes);

// accum of op(terms...), or of each term, over what `result` leaves out. Terms
// without `op` may be bools, of which kMax is "or".
Value Reduce(std::optional<Op> op, Op accum, const std::vector<Term>& terms,
             const Axes& result, const NameSizes& sizes = {});

// The sum of products.
Value Product(const std::vector<Term>& terms, const Axes& result,
              const NameSizes& sizes = {});

// accum over the given axes of `a`, which keep one cell.
Value ReduceAxes(Op accum, const Value& a, const std::vector<int64_t>& axes);

// Their mean.
Value MeanAxes(const Value& a, const std::vector<int64_t>& axes);

// The same cells in memory order under other dims.
Value Reshape(const Value& a, const Dims& dims);
// The product over an axis, which keeps one cell. The engine has no reduction
// that multiplies, so each cell is an operation.
Value Multiplied(const Value& a, int axis);
// The numbers as axis `axis` of `rank` axes; the others have one cell.
Value Along(const Value& numbers, int axis, int rank);
Value Transpose(const Value& a, const std::vector<int64_t>& permutation);
// `a` repeated along axes of one cell, and along new ones on the left.
Value Expand(const Value& a, const Dims& dims);
// Cells start to start + size along an axis.
Value Part(const Value& a, int axis, int64_t start, int64_t size);
// Cells before and behind: 0 if `accum` is kAdd, the least number if kMax. As
// many less if negative.
Value Pad(const Value& a, int axis, int64_t before, int64_t behind,
          Op accum = Op::kAdd);
Value Concatenate(const std::vector<Value>& parts, int axis);

// Floats of fewer than 32 bits as f32, whose squares and sums are finite.
Value Wide(const Value& a);

// x - log(sum(exp(x))) along an axis.
Value LogSoftmax(const Value& x, int axis);

// `axis` counted from the end if it is negative. Misfit: there is no such axis.
int Axis(int64_t axis, int rank);
// The same for each of `axes`. Misfit: one of them is there twice.
Numbers DistinctAxes(Numbers axes, int rank);
// begin, begin + 1, ... rank - 1. Misfit: there are not so many axes.
Numbers AxesFrom(int begin, int rank);
// The product of the dims in [begin, end).
int64_t SizeOf(const Dims& dims, int begin, int end);

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_RULES_VALUE_H_
