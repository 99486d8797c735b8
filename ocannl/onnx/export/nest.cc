// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/export/nest.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/onnx/export/cells.h"
#include "ocannl/onnx/export/windows.h"
#include "ocannl/onnx/write.h"

namespace ocannl::onnx {
namespace {

// Those of `loops`, which are a range of them, for which it holds.
Loops Where(const auto& loops, const std::function<bool(IteratorId)>& holds) {
  Loops chosen;
  for (IteratorId loop : loops) {
    if (holds(loop)) chosen.push_back(loop);
  }
  return chosen;
}

std::string ReductionOf(Op accum) {
  return absl::StrCat("Reduce", accum == Op::kAdd ? "Sum" : Info(accum).name);
}

// The sum of products of two, if each loop that is reduced is in both and there
// is one: a product of matrices, or of batches of them. None: it is not one.
std::optional<Cells> MatrixProduct(Cells a, Cells b, const Loops& result,
                                   FileGraph& to) {
  auto in_result = [&](IteratorId loop) {
    return absl::c_linear_search(result, loop);
  };
  // The rows of the result are those of the first factor.
  const Loops of_one = Where(
      result, [&](IteratorId loop) { return a.Has(loop) != b.Has(loop); });
  if (!of_one.empty() && b.Has(of_one[0])) std::swap(a, b);
  Loops sums = Where(a.loops, [&](IteratorId loop) {
    return !in_result(loop) && b.Has(loop);
  });
  absl::c_sort(sums);
  const auto is_lone = [&](IteratorId loop) {
    return !in_result(loop) && !absl::c_linear_search(sums, loop);
  };
  if (sums.empty() || absl::c_any_of(a.loops, is_lone) ||
      absl::c_any_of(b.loops, is_lone)) {
    return std::nullopt;
  }
  if (ProductOfSizes(a, sums) == kOpenSize) RefuseBatch("the batch is summed");
  const Loops both = Where(
      result, [&](IteratorId loop) { return a.Has(loop) && b.Has(loop); });
  const Loops rows = Where(
      result, [&](IteratorId loop) { return a.Has(loop) && !b.Has(loop); });
  const Loops columns = Where(
      result, [&](IteratorId loop) { return b.Has(loop) && !a.Has(loop); });
  const bool fold_rows = !both.empty() || rows.empty();
  const FileValue left = fold_rows ? Grouped(a, both, {rows, sums}, {}, to)
                                   : Grouped(a, rows, {sums}, {}, to);
  const FileValue right = Grouped(b, both, {sums, columns}, {}, to);
  Dims dims = left.dims;
  for (size_t k = 0; k < both.size(); ++k) {
    if ((dims[k] == kOpenSize) != (right.dims[k] == kOpenSize)) {
      RefuseBatch("the batch meets an axis of another size");
    }
  }
  dims.back() = right.dims.back();
  const FileValue product = to.Op("MatMul", {left, right}, left.dtype, dims);
  const Loops loops = Concat({both, rows, columns});
  dims.clear();
  for (IteratorId loop : loops) {
    dims.push_back(a.Has(loop) ? a.SizeOf(loop) : b.SizeOf(loop));
  }
  return Cells{to.Reshape(product, dims), loops};
}

class NestWriter {
 public:
  NestWriter(const Nest& nest, FileGraph& to)
      : nest_(nest), to_(to), result_(LoopsOf(nest.result, nest.extents)) {}

  // The result with an axis for each of its loops, in order; loops that no
  // operand has may be missing.
  Cells Write() {
    if (auto windows = WriteWindows(nest_, result_, to_)) return *windows;
    std::vector<Cells> operands;
    for (const NestOperand& operand : nest_.operands) {
      operands.push_back(ReadCells(operand.value, operand.dims, operand.indices,
                                   nest_.extents, {.outside = nest_.outside},
                                   to_));
    }
    if (nest_.is_product && nest_.accum == Op::kAdd) return Product(operands);
    return Term(operands);
  }

 private:
  // Products of two, one after the other; loops stay that later ones have.
  Cells Product(const std::vector<Cells>& operands) {
    std::vector<Cells> wide;
    for (const Cells& operand : operands) {
      wide.push_back(
          {to_.Cast(operand.value, ComputeDType(operand.value.dtype)),
           operand.loops});
    }
    Cells product = wide[0];
    for (size_t k = 1; k < wide.size(); ++k) {
      auto is_needed = [&](IteratorId loop) {
        if (absl::c_linear_search(result_, loop)) return true;
        return std::any_of(wide.begin() + static_cast<int64_t>(k) + 1,
                           wide.end(),
                           [&](const Cells& later) { return later.Has(loop); });
      };
      Loops kept = Where(Concat({product.loops, wide[k].loops}), is_needed);
      absl::c_sort(kept);
      kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
      const Cells a = Summed(product, wide[k], is_needed);
      const Cells b = Summed(wide[k], product, is_needed);
      std::optional<Cells> next = MatrixProduct(a, b, kept, to_);
      product = next ? *std::move(next) : Multiplied(a, b, is_needed);
    }
    return Repeated(product, operands);
  }

  // Without the loops that nothing else has.
  Cells Summed(const Cells& a, const Cells& b,
               const std::function<bool(IteratorId)>& is_needed) {
    const Loops lone = Where(a.loops, [&](IteratorId loop) {
      return !b.Has(loop) && !is_needed(loop);
    });
    return Reduced(a, lone, Op::kAdd);
  }

  Cells Multiplied(const Cells& a, const Cells& b,
                   const std::function<bool(IteratorId)>& is_needed) {
    Loops all =
        Concat({a.loops,
                Where(b.loops, [&](IteratorId loop) { return !a.Has(loop); })});
    absl::c_sort(all);
    const FileValue left = Aligned(a, all, /*in_front=*/true, to_);
    const FileValue right = Aligned(b, all, /*in_front=*/true, to_);
    const Cells product = {to_.Op("Mul", {left, right}, left.dtype,
                                  JoinedDims(left.dims, right.dims)),
                           all};
    return Reduced(
        product, Where(all, [&](IteratorId loop) { return !is_needed(loop); }),
        Op::kAdd);
  }

  Cells Reduced(const Cells& cells, const Loops& loops, Op accum) {
    if (loops.empty()) return cells;
    const Loops kept = Where(cells.loops, [&](IteratorId loop) {
      return !absl::c_linear_search(loops, loop);
    });
    const Cells ordered = InOrder(cells, Concat({kept, loops}), to_);
    return {to_.ReduceLast(ReductionOf(accum), ordered.value,
                           static_cast<int>(loops.size())),
            kept};
  }

  // A sum over a loop that no operand has is so many times the cell.
  Cells Repeated(Cells cells, const std::vector<Cells>& operands) {
    int64_t times = 1;
    for (IteratorId loop : nest_.extents.ids()) {
      if (!IsIn(loop, operands)) times *= nest_.extents[loop];
    }
    if (times == 1 || nest_.accum != Op::kAdd) return cells;
    const FileValue count =
        to_.Number(static_cast<double>(times), cells.value.dtype);
    cells.value = to_.Op("Mul", {cells.value, count}, cells.value.dtype,
                         cells.value.dims);
    return cells;
  }

  // Whether the result or an operand has the loop.
  bool IsIn(IteratorId loop, const std::vector<Cells>& operands) const {
    return absl::c_linear_search(result_, loop) ||
           absl::c_any_of(operands, [&](const Cells& operand) {
             return operand.Has(loop);
           });
  }

  Cells Term(const std::vector<Cells>& operands) {
    const Loops reduced = Where(nest_.extents.ids(), [&](IteratorId loop) {
      return !absl::c_linear_search(result_, loop) && IsIn(loop, operands);
    });
    const Loops all = Concat({result_, reduced});
    std::vector<FileValue> values;
    for (const Cells& operand : operands) {
      values.push_back(Aligned(operand, all, /*in_front=*/false, to_));
    }
    FileValue value = nest_.term(values);
    const int missing = static_cast<int>(all.size()) - value.rank();
    if (!reduced.empty()) {
      value = to_.ReduceLast(ReductionOf(*nest_.accum), value,
                             static_cast<int>(reduced.size()));
    }
    return Repeated({value, {result_.begin() + missing, result_.end()}},
                    operands);
  }

  const Nest& nest_;
  FileGraph& to_;
  const Loops result_;
};

// The cells of one axis of a result where `index`, of one loop or none, places
// them.
FileValue Placed(FileValue value, int axis, const Affine& index,
                 const LoopExtents& extents, int64_t size, double outside,
                 FileGraph& to) {
  const Loops loops = LoopsOf({index}, extents);
  const int64_t count = loops.empty() ? 1 : extents[loops[0]];
  if (index.offset() == 0 && count == size) return value;
  Dims dims = value.dims;
  dims[axis] = count;
  value = to.Expand(value, dims);
  const int64_t stride = loops.empty() ? 1 : index.terms()[0].factor;
  if (stride > 1) {
    value = to.Pad(to.Unsqueeze(value, {axis + 1}), axis + 1, 0, stride - 1,
                   outside);
    dims[axis] *= stride;
    value = to.Reshape(value, dims);
  }
  return to.Pad(value, axis, index.offset(), size - index.offset() - dims[axis],
                outside);
}

// The cells as an array of `dims`, or one that broadcasts to it.
FileValue InPlace(const Cells& cells, const Nest& nest, const Dims& dims,
                  FileGraph& to) {
  bool is_whole = true;
  Loops loops;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const Loops of_axis = LoopsOf({nest.result[axis]}, nest.extents);
    if (of_axis.size() > 1) {
      Refuse("windows in a result, as of a transposed convolution, have no ",
             "form in ONNX");
    }
    loops.push_back(of_axis.empty() ? IteratorId() : of_axis[0]);
    const int64_t count = of_axis.empty() ? 1 : nest.extents[of_axis[0]];
    is_whole = is_whole && count == dims[axis];
  }
  FileValue value = Aligned(cells, loops, /*in_front=*/!is_whole, to);
  for (size_t axis = 0; !is_whole && axis < dims.size(); ++axis) {
    value = Placed(value, static_cast<int>(axis), nest.result[axis],
                   nest.extents, dims[axis], nest.outside, to);
  }
  return value;
}

}  // namespace

FileValue WriteNest(const Nest& nest, const Dims& dims, FileGraph& to) {
  Nest moving = nest;
  for (Affine& index : moving.result) index = Moving(index, nest.extents);
  return InPlace(NestWriter(moving, to).Write(), moving, dims, to);
}

FileValue WriteLookup(const Lookup& lookup, const Dims& dims, FileGraph& to) {
  auto read = [&](const NestOperand& operand) {
    return ReadCells(operand.value, operand.dims, operand.indices,
                     lookup.extents, {}, to);
  };
  Cells table = read(lookup.table);
  const Cells ids = read(lookup.ids);
  const IteratorId place = {lookup.extents.next_id().index - 1};
  Loops order = {place};
  for (IteratorId loop : table.loops) {
    if (loop != place) order.push_back(loop);
  }
  table = InOrder(table, order, to);
  if (table.value.dims[0] == kOpenSize) RefuseBatch("the batch is looked up");
  Dims found = ids.value.dims;
  found.insert(found.end(), table.value.dims.begin() + 1,
               table.value.dims.end());
  Cells cells = {
      to.Op("Gather", {table.value, to.Cast(ids.value, DType::kI64)},
            table.value.dtype, found, {{"axis", WholeAttribute(0)}}),
      Concat({ids.loops, {table.loops.begin() + 1, table.loops.end()}})};
  Nest rest = {.extents = lookup.extents,  // but `place`, the last
               .result = lookup.result,
               .operands = {},
               .accum = lookup.accum,
               .term = [](auto values) { return values[0]; }};
  rest.extents.pop_back();
  NestOperand operand = {.value = cells.value, .dims = {}, .indices = {}};
  for (IteratorId loop : cells.loops) {
    operand.dims.push_back(lookup.extents[loop]);
    operand.indices.push_back(Iterator(loop));
  }
  rest.operands = {operand};
  return WriteNest(rest, dims, to);
}

}  // namespace ocannl::onnx
