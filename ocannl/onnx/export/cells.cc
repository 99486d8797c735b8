// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/export/cells.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"

namespace ocannl::onnx {
namespace {

struct Bounds {
  int64_t low, high;
};

Bounds BoundsOf(const Affine& index, const LoopExtents& extents) {
  Bounds bounds = {index.offset(), index.offset()};
  for (const Affine::Term& term : index.terms()) {
    const int64_t reach = term.factor * (extents[term.symbol.iterator()] - 1);
    (reach < 0 ? bounds.low : bounds.high) += reach;
  }
  return bounds;
}

// The loop that runs along the whole axis, if the index is that.
std::optional<IteratorId> WholeLoop(const Affine& index, int64_t size,
                                    const LoopExtents& extents) {
  if (index.offset() != 0 || index.terms().size() != 1 ||
      index.terms()[0].factor != 1) {
    return std::nullopt;
  }
  const IteratorId loop = index.terms()[0].symbol.iterator();
  if (extents[loop] != size) return std::nullopt;
  return loop;
}

// The values of the index in all iterations of its loops.
NdArray ValuesOf(const Affine& index, const LoopExtents& extents) {
  Dims dims;
  for (const Affine::Term& term : index.terms()) {
    dims.push_back(extents[term.symbol.iterator()]);
  }
  NdArray values(DType::kI64, dims);
  for (int64_t k = 0; k < values.size(); ++k) {
    int64_t rest = k, at = index.offset();
    for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis]) {
      at += index.terms()[axis].factor * (rest % dims[axis]);
    }
    values.values<int64_t>()[k] = at;
  }
  return values;
}

// One axis of what ReadCells reads, from the last to the first: those behind it
// are done.
class AxisReader {
 public:
  AxisReader(FileValue value, const LoopExtents& extents,
             const ReadOptions& options, FileGraph& to)
      : value_(std::move(value)),
        extents_(extents),
        options_(options),
        to_(to) {}

  void Read(int axis, int64_t size, const Affine& index) {
    const Bounds bounds = BoundsOf(index, extents_);
    const bool is_inside = bounds.low >= 0 && bounds.high < size;
    if (is_inside && value_.dims[axis] == 1) {
      squeezed_.push_back(axis);
      return Put({});
    }
    if (auto loop = WholeLoop(index, size, extents_)) return Put({*loop});
    if (options_.windows_of != nullptr) {
      auto window = WindowOf(index, extents_, *options_.windows_of);
      if (window) return Put({window->out});
    }
    const int64_t before = std::max<int64_t>(0, -bounds.low);
    const int64_t after = std::max<int64_t>(0, bounds.high - (size - 1));
    value_ = to_.Pad(value_, axis, before, after, options_.outside);
    Affine at = index;
    at.AddOffset(before);
    Loops loops;
    for (const Affine::Term& term : index.terms()) {
      loops.push_back(term.symbol.iterator());
    }
    const bool is_all = WholeLoop(at, value_.dims[axis], extents_).has_value();
    if (!is_all) value_ = to_.Take(value_, axis, ValuesOf(at, extents_));
    const int more = static_cast<int>(loops.size()) - 1;
    for (int& other : squeezed_) other += more;
    Put(loops);
  }

  Cells Finish() {
    Loops sorted = loops_;
    absl::c_sort(sorted);
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      Refuse("a diagonal has no form in ONNX");
    }
    absl::c_sort(squeezed_);
    return {to_.Squeeze(value_, squeezed_), loops_};
  }

 private:
  void Put(const Loops& loops) {
    loops_.insert(loops_.begin(), loops.begin(), loops.end());
  }

  FileValue value_;
  const LoopExtents& extents_;
  const ReadOptions& options_;
  FileGraph& to_;
  Loops loops_;
  std::vector<int> squeezed_;
};

}  // namespace

Affine Moving(const Affine& index, const LoopExtents& extents) {
  return index.Substitute([&](Symbol symbol) -> Affine {
    if (symbol.kind == Symbol::kStatic) {
      Refuse("a static index has no form in ONNX; slice by a number");
    }
    if (extents[symbol.iterator()] == 1) return 0;
    return symbol;
  });
}

bool Cells::Has(IteratorId loop) const {
  return absl::c_linear_search(loops, loop);
}

int64_t Cells::SizeOf(IteratorId loop) const {
  return value.dims[absl::c_find(loops, loop) - loops.begin()];
}

std::optional<Window> WindowOf(const Affine& index, const LoopExtents& extents,
                               const Loops& result) {
  const Affine moving = Moving(index, extents);
  if (moving.terms().size() != 2) return std::nullopt;
  const auto& [a, b] = std::pair(moving.terms()[0], moving.terms()[1]);
  const bool first = absl::c_linear_search(result, a.symbol.iterator());
  const bool second = absl::c_linear_search(result, b.symbol.iterator());
  if (first == second || a.factor < 0 || b.factor < 0) return std::nullopt;
  const Affine::Term& out = first ? a : b;
  const Affine::Term& in = first ? b : a;
  return Window{out.symbol.iterator(), in.symbol.iterator(), out.factor,
                in.factor, moving.offset()};
}

Loops LoopsOf(const Indices& indices, const LoopExtents& extents) {
  Loops loops;
  for (const Affine& index : indices) {
    for (const Affine::Term& term : index.terms()) {
      const IteratorId loop = term.symbol.iterator();
      const bool is_new = !absl::c_linear_search(loops, loop);
      if (is_new && extents[loop] > 1) loops.push_back(loop);
    }
  }
  return loops;
}

Cells ReadCells(FileValue value, const Dims& dims, const Indices& indices,
                const LoopExtents& extents, const ReadOptions& options,
                FileGraph& to) {
  std::vector<Affine> moving;
  bool is_inside = true;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    moving.push_back(Moving(indices[axis], extents));
    const Bounds bounds = BoundsOf(moving.back(), extents);
    is_inside = is_inside && bounds.low >= 0 && bounds.high < dims[axis];
  }
  if (!is_inside) value = to.Expand(value, dims);
  const size_t missing = dims.size() - value.dims.size();
  AxisReader reader(value, extents, options, to);
  for (size_t axis = dims.size(); axis-- > missing;) {
    reader.Read(static_cast<int>(axis - missing), dims[axis], moving[axis]);
  }
  return reader.Finish();
}

Cells InOrder(const Cells& cells, const Loops& loops, FileGraph& to) {
  std::vector<int> order;
  Cells ordered;
  for (IteratorId loop : loops) {
    const auto at = absl::c_find(cells.loops, loop);
    if (at == cells.loops.end()) continue;
    order.push_back(static_cast<int>(at - cells.loops.begin()));
    ordered.loops.push_back(loop);
  }
  ordered.value = to.Transpose(cells.value, order);
  return ordered;
}

FileValue Aligned(const Cells& cells, const Loops& loops, bool in_front,
                  FileGraph& to) {
  const Cells ordered = InOrder(cells, loops, to);
  std::vector<int> missing;
  bool begun = in_front;
  int axis = 0;
  for (IteratorId loop : loops) {
    const bool is_there = cells.Has(loop);
    begun = begun || is_there;
    if (!begun) continue;
    if (!is_there) missing.push_back(axis);
    ++axis;
  }
  return to.Unsqueeze(ordered.value, missing);
}

int64_t ProductOfSizes(const Cells& cells, const Loops& loops) {
  int64_t product = 1;
  for (IteratorId loop : loops) {
    const int64_t size = cells.SizeOf(loop);
    if (size == kOpenSize) return kOpenSize;
    product *= size;
  }
  return product;
}

Loops Concat(std::initializer_list<Loops> parts) {
  Loops all;
  for (const Loops& part : parts) absl::c_copy(part, std::back_inserter(all));
  return all;
}

FileValue Grouped(const Cells& cells, const Loops& before,
                  std::initializer_list<Loops> folded, const Loops& behind,
                  FileGraph& to) {
  const Cells ordered =
      InOrder(cells, Concat({before, Concat(folded), behind}), to);
  Dims dims;
  for (IteratorId loop : before) dims.push_back(cells.SizeOf(loop));
  for (const Loops& loops : folded) {
    dims.push_back(ProductOfSizes(cells, loops));
  }
  for (IteratorId loop : behind) dims.push_back(cells.SizeOf(loop));
  return to.Reshape(ordered.value, dims);
}

}  // namespace ocannl::onnx
