// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/rules/value.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/tensor/dims.h"

namespace ocannl::onnx {
namespace {

// The axes as a row; commas make its names long.
std::string Row(const Axes& axes) {
  std::string row;
  for (const std::string& axis : axes) absl::StrAppend(&row, axis, ", ");
  return row;
}

EinsumAxis ParseAxis(const std::string& text) {
  absl::StatusOr<EinsumAxis> axis = ParseEinsumAxis(text, {});
  Require(axis.ok(), axis.status().message());
  return *axis;
}

int64_t SizeOfAxis(const std::string& text, const NameSizes& sizes) {
  const EinsumAxis axis = ParseAxis(text);
  if (axis.is_position()) return axis.position + 1;
  auto size_of = [&](const std::string& name) {
    auto found = sizes.find(name);
    Require(found != sizes.end(), "no input has the axis ", name);
    return found->second;
  };
  if (axis.is_plain()) return size_of(axis.name);
  int64_t size = 0;
  for (const std::string& part : axis.parts) size += size_of(part);
  if (!axis.parts.empty()) return size;
  Require(!axis.kernel.empty() && axis.fit == WindowFit::kExact,
          "an axis of windows without a size");
  return axis.stride * (size_of(axis.name) - 1) +
         axis.dilation * (size_of(axis.kernel) - 1) + 1;
}

// `a` with axes of one cell that broadcast where those of `dims` have more.
Value Aligned(const Value& a, const Dims& dims) {
  const Axes names = AxisNames(a.rank());
  Axes axes = names;
  for (int k = 0; k < a.rank(); ++k) {
    if (a.dims[k] != dims[dims.size() - a.rank() + k]) axes[k] = "0";
  }
  if (axes == names) return a;
  return Reduce({}, Op::kAdd, {{a, axes}}, axes);
}

// Makes the numbers tensors without axes: a number has an axis of one cell,
// which broadcasts, but which a result of others without axes would get.
void NumbersToScalars(std::vector<Arg>& args) {
  std::optional<Tensor> other;
  for (const Arg& arg : args) {
    const auto* tensor = std::get_if<Tensor>(&arg.value);
    if (tensor != nullptr) other = *tensor;
  }
  for (Arg& arg : args) {
    const auto* number = std::get_if<double>(&arg.value);
    if (number == nullptr) continue;
    arg = Filled(*other->graph, {}, *number, other->node().dtype).arg;
  }
}

// Whether `arg` can be a number beside `other`, which says its dtype.
bool CanBeNumber(const Value& arg, const Value& other) {
  const bool is_tensor = std::holds_alternative<Tensor>(other.arg.value);
  return is_tensor && !(other.is_constant() && other.cells() == 1) &&
         other.dtype() == arg.dtype() && other.rank() >= arg.rank();
}

// Constants of one cell as numbers, which the engine folds into the code around
// them. An integer that a double cannot hold stays.
std::vector<Value> WithNumbers(const std::vector<Value>& args) {
  std::vector<Value> numbers = args;
  for (Value& arg : numbers) {
    if (!arg.is_constant() || arg.cells() != 1) continue;
    if (arg.dtype() == DType::kBool) continue;
    const double number = arg.known->AsDouble(0);
    if (IsInteger(arg.dtype()) && std::abs(number) > 0x1p52) continue;
    if (absl::c_any_of(args, [&](const Value& other) {
          return CanBeNumber(arg, other);
        })) {
      arg = Value(number);
    }
  }
  return numbers;
}

}  // namespace

int64_t Value::dim(int64_t axis) const {
  Require(axis >= 0 && axis < rank(), "axis ", axis, " of ", rank(), " axes");
  return dims[axis];
}

Dims BroadcastDims(Dims a, const Dims& b) {
  if (b.size() > a.size()) a.insert(a.begin(), b.size() - a.size(), 1);
  for (size_t i = 1; i <= b.size(); ++i) {
    const int64_t own = b[b.size() - i];
    int64_t& size = a[a.size() - i];
    Require(size == own || size == 1 || own == 1, "dims with ", size, " and ",
            own, " cells do not broadcast");
    if (size == 1) size = own;
  }
  return a;
}

Value Map(Op op, const std::vector<Value>& args) {
  Dims dims;
  for (const Value& arg : args) dims = BroadcastDims(std::move(dims), arg.dims);
  std::vector<Arg> aligned;
  for (const Value& arg : WithNumbers(args))
    aligned.push_back(Aligned(arg, dims).arg);
  if (dims.empty()) NumbersToScalars(aligned);
  return {Pointwise(op, aligned), dims};
}

Value Cast(const Value& a, DType dtype) {
  if (a.dtype() == dtype) return a;
  if (a.is_constant() && a.cells() > 0 && a.known->size() == 1) {
    return Constant(*a.tensor().graph, Converted(*a.known, dtype));
  }
  if (dtype == DType::kBool) return NotEqual(a, 0);
  return {Convert(a.arg, dtype), a.dims};
}

Value Saturated(const Value& a, DType dtype) {
  if (dtype != DType::kF8E4M3 && dtype != DType::kF8E5M2) return Cast(a, dtype);
  if (IsInteger(a.dtype()) || a.dtype() == DType::kBool) return Cast(a, dtype);
  const double most = dtype == DType::kF8E4M3 ? 448 : 57344;
  const Value wide = Cast(a, DType::kF32);
  // Comparisons, and not kMin, so that a NaN stays one.
  return Cast(
      Select(Less(most, wide), most, Select(Less(wide, -most), -most, wide)),
      dtype);
}

Axes AxisNames(int rank) {
  Axes names;
  for (int k = 0; k < rank; ++k) names.push_back(absl::StrCat("a", k));
  return names;
}

std::string SpecOf(const std::vector<Term>& terms, const Axes& result) {
  std::vector<std::string> rows;
  for (const Term& term : terms) rows.push_back(Row(term.axes));
  return absl::StrCat(absl::StrJoin(rows, "; "), " => ", Row(result));
}

Dims DimsOf(const std::vector<Term>& terms, const Axes& result,
            const NameSizes& sizes) {
  NameSizes all = sizes;
  for (const Term& term : terms) {
    Require(term.axes.size() == term.value.dims.size(), "an input has ",
            term.value.rank(), " axes, not ", term.axes.size());
    for (size_t k = 0; k < term.axes.size(); ++k) {
      if (!ParseAxis(term.axes[k]).is_plain()) continue;
      const int64_t size = term.value.dims[k];
      const int64_t other = all.try_emplace(term.axes[k], size).first->second;
      Require(other == size, "an axis has ", size, " cells in one input and ",
              other, " in another");
    }
  }
  Dims dims;
  for (const std::string& axis : result) dims.push_back(SizeOfAxis(axis, all));
  return dims;
}

Value Reduce(std::optional<Op> op, Op accum, const std::vector<Term>& terms,
             const Axes& result, const NameSizes& sizes) {
  std::vector<Arg> args;
  bool is_bool = false;
  for (const Term& term : terms) {
    is_bool = is_bool || term.value.dtype() == DType::kBool;
    args.push_back(is_bool ? Cast(term.value, DType::kU8).arg : term.value.arg);
  }
  const Dims dims = DimsOf(terms, result, sizes);
  Tensor made = Reduce(op, accum, SpecOf(terms, result), args);
  for (const auto& [name, size] : sizes) {
    if (size <= 0) continue;
    const absl::Status set = SetDim(made, name, size);
    Require(set.ok(), set.message());
  }
  Value reduced(made, dims);
  return is_bool ? Cast(reduced, DType::kBool) : reduced;
}

Value Product(const std::vector<Term>& terms, const Axes& result,
              const NameSizes& sizes) {
  return Reduce(Op::kMul, Op::kAdd, terms, result, sizes);
}

Value ReduceAxes(Op accum, const Value& a, const std::vector<int64_t>& axes) {
  const Axes names = AxisNames(a.rank());
  Axes kept = names;
  for (int64_t axis : axes) kept[axis] = "0";
  return Reduce({}, accum, {{a, names}}, kept);
}

Value MeanAxes(const Value& a, const std::vector<int64_t>& axes) {
  double cells = 1;
  for (int64_t axis : axes) cells *= static_cast<double>(a.dim(axis));
  return ReduceAxes(Op::kAdd, a, axes) / cells;
}

Value Reshape(const Value& a, const Dims& dims) {
  for (int64_t size : dims) Require(size >= 0, "a dim of ", size, " cells");
  const absl::StatusOr<int64_t> cells = ByteSize(DType::kU8, dims);
  Require(cells.ok() && *cells == a.cells(), a.cells(),
          " cells do not have the dims ", absl::StrJoin(dims, ","));
  if (a.cells() == 0) return {a.tensor(), dims};
  if (dims == a.dims) return a;
  Shape shape;
  shape[RowKind::kOutput] = dims;
  return {Reshape(a.arg, shape), dims};
}

Value Along(const Value& numbers, int axis, int rank) {
  Require(axis >= 0 && axis < rank, "axis ", axis, " of ", rank, " axes");
  Dims dims(rank, 1);
  dims[axis] = numbers.dim(0);
  return Reshape(numbers, dims);
}

Value Multiplied(const Value& a, int axis) {
  if (a.dims[axis] == 0) {
    Dims dims = a.dims;
    dims[axis] = 1;
    return Filled(*a.tensor().graph, dims, 1, a.dtype());
  }
  // Of long axes, half times half.
  if (const int64_t half = a.dims[axis] / 2; half > 512) {
    const Value pairs = Part(a, axis, 0, half) * Part(a, axis, half, half);
    const Value even = Multiplied(pairs, axis);
    return a.dims[axis] == 2 * half ? even : even * Part(a, axis, 2 * half, 1);
  }
  Value product = Part(a, axis, 0, 1);
  for (int64_t k = 1; k < a.dims[axis]; ++k) {
    product = product * Part(a, axis, k, 1);
  }
  return product;
}

Value Transpose(const Value& a, const std::vector<int64_t>& permutation) {
  const Axes axes = AxisNames(a.rank());
  Axes permuted;
  std::vector<bool> is_used(a.rank());
  Require(permutation.size() == axes.size(), "a permutation of ",
          permutation.size(), " axes, not of ", axes.size());
  for (int64_t axis : permutation) {
    Require(axis >= 0 && axis < a.rank() && !is_used[axis],
            "no permutation of ", a.rank(), " axes");
    is_used[axis] = true;
    permuted.push_back(axes[axis]);
  }
  if (permuted == axes) return a;
  return Reduce({}, Op::kAdd, {{a, axes}}, permuted);
}

Value Expand(const Value& a, const Dims& dims) {
  const int left = static_cast<int>(dims.size()) - a.rank();
  Require(left >= 0, "dims of fewer axes");
  const Axes names = AxisNames(static_cast<int>(dims.size()));
  Axes from(names.begin() + left, names.end());
  NameSizes sizes;
  for (int k = 0; k < static_cast<int>(dims.size()); ++k) {
    if (k >= left && a.dims[k - left] == dims[k]) continue;
    Require(k < left || a.dims[k - left] == 1, "an axis of ",
            k < left ? 0 : a.dims[k - left], " cells does not broadcast to ",
            dims[k]);
    if (k >= left) from[k - left] = "0";
    sizes.emplace(names[k], dims[k]);
  }
  return Reduce({}, Op::kAdd, {{a, from}}, names, sizes);
}

Value Part(const Value& a, int axis, int64_t start, int64_t size) {
  const int64_t behind = a.dim(axis) - start - size;
  Require(start >= 0 && size >= 0 && behind >= 0, "cells ", start, " to ",
          start + size, " of an axis of ", a.dim(axis), " cells");
  if (size == a.dims[axis]) return a;
  Axes from = AxisNames(a.rank());
  const Axes to = from;
  NameSizes sizes = {{to[axis], size}};
  if (start > 0) {
    from[axis] = absl::StrCat("before^", from[axis]);
    sizes["before"] = start;
  }
  if (behind > 0) {
    absl::StrAppend(&from[axis], "^behind");
    sizes["behind"] = behind;
  }
  return Reduce({}, Op::kAdd, {{a, from}}, to, sizes);
}

Value Pad(const Value& a, int axis, int64_t before, int64_t behind, Op accum) {
  const int64_t cut = std::max<int64_t>(0, -before);
  const int64_t kept = a.dims[axis] - cut - std::max<int64_t>(0, -behind);
  const Value part = Part(a, axis, cut, kept);
  const Axes from = AxisNames(a.rank());
  Axes to = from;
  NameSizes sizes;
  if (before > 0) {
    to[axis] = absl::StrCat("before^", to[axis]);
    sizes["before"] = before;
  }
  if (behind > 0) {
    absl::StrAppend(&to[axis], "^behind");
    sizes["behind"] = behind;
  }
  if (sizes.empty()) return part;
  return Reduce({}, accum, {{part, from}}, to, sizes);
}

Value Concatenate(const std::vector<Value>& parts, int axis) {
  Require(!parts.empty(), "nothing to concatenate");
  std::vector<Term> terms;
  Axes result = AxisNames(parts[0].rank());
  result[axis].clear();
  for (const Value& part : parts) {
    if (part.dim(axis) == 0) continue;
    const std::string name = absl::StrCat("p", terms.size());
    terms.push_back({part, AxisNames(part.rank())});
    terms.back().axes[axis] = name;
    absl::StrAppend(&result[axis], terms.size() > 1 ? "^" : "", name);
  }
  if (terms.empty()) return parts[0];
  if (terms.size() == 1) return terms[0].value;
  return Reduce({}, Op::kAdd, terms, result);
}

Value Wide(const Value& a) {
  const DType computed = ComputeDType(a.dtype());
  return IsFloat(computed) ? Cast(a, computed) : a;
}

Value LogSoftmax(const Value& x, int axis) {
  const Value shifted = x - ReduceAxes(Op::kMax, x, {axis});
  return shifted - Log(ReduceAxes(Op::kAdd, Exp(shifted), {axis}));
}

int Axis(int64_t axis, int rank) {
  Require(axis >= -rank && axis < rank, "axis ", axis, " of ", rank, " axes");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Numbers DistinctAxes(Numbers axes, int rank) {
  for (int64_t& axis : axes) axis = Axis(axis, rank);
  for (int64_t axis : axes) {
    Require(absl::c_count(axes, axis) == 1, "axis ", axis, " is there twice");
  }
  return axes;
}

Numbers AxesFrom(int begin, int rank) {
  Require(begin <= rank, "axis ", begin, " of ", rank, " axes");
  Numbers axes(rank - begin);
  absl::c_iota(axes, begin);
  return axes;
}

int64_t SizeOf(const Dims& dims, int begin, int end) {
  Require(0 <= begin && begin <= end && end <= static_cast<int>(dims.size()),
          "axes ", begin, " to ", end, " of ", dims.size(), " axes");
  return NumElements(absl::MakeSpan(dims).subspan(begin, end - begin));
}

}  // namespace ocannl::onnx
