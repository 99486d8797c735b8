// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/torch_layout.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/core/tensor/source.h"

namespace ocannl::train {
namespace {

using Names = std::vector<std::string>;

constexpr TorchLayout kUnknown = {.groups = {}, .is_unknown = true};

bool Contains(const Names& names, const std::string& name) {
  return absl::c_linear_search(names, name);
}

// The name of each axis of an operand of that shape: "v.0" is the first one of
// the row variable v, and "" has no name. nullopt: some axes are computed.
std::optional<Names> NamesOfAxes(const EinsumSlot& slot, const Shape& shape) {
  Names names;
  bool are_plain = true;
  auto add = [&](const EinsumAxis& axis) {
    are_plain &= axis.is_plain() || axis.is_position();
    names.push_back(axis.is_plain() && axis.name != "_" ? axis.name : "");
  };
  for (RowKind kind : kRowKinds) {
    const EinsumRow& row = slot[static_cast<int>(kind)];
    absl::c_for_each(row.begin, add);
    const int rest = static_cast<int>(shape[kind].size()) - row.size();
    for (int k = 0; row.variable && k < rest; ++k) {
      names.push_back(absl::StrCat(*row.variable, ".", k));
    }
    absl::c_for_each(row.end, add);
  }
  if (!are_plain || names.size() != shape.dims().size()) return std::nullopt;
  return names;
}

// The names in a row of the result, in order, with those of `operand` that are
// of its variable.
Names NamesInRow(const EinsumRow& row, const Names& operand) {
  Names names;
  auto add = [&](EinsumAxis axis) {
    for (std::string* name : axis.Names()) names.push_back(*name);
  };
  absl::c_for_each(row.begin, add);
  for (int k = 0; row.variable; ++k) {
    std::string name = absl::StrCat(*row.variable, ".", k);
    if (!Contains(operand, name)) break;
    names.push_back(std::move(name));
  }
  absl::c_for_each(row.end, add);
  return names;
}

// Along which axes of `operand` windows lie on `slot`: names in it that count
// cells of windows which `operand` does not choose.
Names WindowsOn(const EinsumSlot& slot, const Names& operand) {
  Names windows;
  ForEachAxis(slot, [&](const EinsumAxis& axis) {
    if (axis.kernel.empty() || Contains(operand, axis.name)) return;
    if (Contains(operand, axis.kernel)) windows.push_back(axis.kernel);
  });
  return windows;
}

// Where operand `k` of the spec, with that shape, has axes that are in the
// result, summed, and of windows; those that are summed are looked up if
// `gathers`.
TorchLayout LayoutInSpec(const EinsumSpec& spec, size_t k, const Shape& shape,
                         bool gathers) {
  const std::optional<Names> names = NamesOfAxes(spec.operands[k], shape);
  if (!names) return kUnknown;
  Names windows;
  for (size_t other = 0; other < spec.operands.size(); ++other) {
    if (other == k) continue;
    const Names more = WindowsOn(spec.operands[other], *names);
    windows.insert(windows.end(), more.begin(), more.end());
  }
  if (!WindowsOn(spec.result, *names).empty()) return kUnknown;
  TorchLayout layout;
  std::vector<bool> is_placed(names->size());
  auto place = [&](auto&& group) {
    if (!group.empty()) layout.groups.push_back(group);
    for (int axis : group) is_placed[axis] = true;
  };
  for (const EinsumRow& row : spec.result) {
    std::vector<int> group;
    for (const std::string& name : NamesInRow(row, *names)) {
      const auto at = absl::c_find(*names, name);
      if (at == names->end() || name.empty()) continue;
      group.push_back(static_cast<int>(at - names->begin()));
    }
    place(group);
  }
  std::vector<int> summed;
  for (size_t axis = 0; axis < names->size(); ++axis) {
    if (is_placed[axis] || Contains(windows, (*names)[axis])) continue;
    summed.push_back(static_cast<int>(axis));
  }
  place(summed);
  if (gathers && !summed.empty()) {
    std::rotate(layout.groups.begin(), layout.groups.end() - 1,
                layout.groups.end());
  }
  for (size_t axis = 0; axis < names->size(); ++axis) {
    if (!is_placed[axis]) place(std::vector<int>{static_cast<int>(axis)});
  }
  return layout;
}

// That of operand `k` of `w * x`.
TorchLayout LayoutInProduct(size_t k, const Shape& shape) {
  std::vector<int> outputs, inputs;
  for (size_t axis = 0; axis < shape.dims().size(); ++axis) {
    const bool is_output = axis < shape[RowKind::kOutput].size();
    (is_output ? outputs : inputs).push_back(static_cast<int>(axis));
  }
  std::vector<int>& summed = k == 0 ? inputs : outputs;
  if (summed.size() == 3)
    std::rotate(summed.begin(), summed.end() - 1, summed.end());
  TorchLayout layout;
  for (auto& group : {k == 0 ? outputs : inputs, summed}) {
    if (!group.empty()) layout.groups.push_back(group);
  }
  return layout;
}

// Whether the use only sums all cells, as a penalty or a norm of weights does.
bool SumsAll(const ComputeSource& use) {
  const EinsumSpec* spec = use.spec();
  if (spec == nullptr || use.operands.size() != 1) return false;
  return NamesOf(spec->result).empty() &&
         absl::c_none_of(spec->result, [](const EinsumRow& row) {
           return row.variable.has_value();
         });
}

// That of operand `k`; nullopt: any, as its axes go with those of the others.
std::optional<TorchLayout> LayoutInUse(const ComputeSource& use, size_t k,
                                       const Shape& shape) {
  if (std::holds_alternative<ComputeSource::Compose>(use.logic)) {
    return k < 2 ? LayoutInProduct(k, shape) : kUnknown;
  }
  const EinsumSpec* spec = use.spec();
  if (spec == nullptr) return std::nullopt;
  const auto* gather = std::get_if<ComputeSource::Gather>(&use.logic);
  return LayoutInSpec(*spec, k, shape, gather != nullptr && !gather->scatters);
}

// The axes in PyTorch's order, but those of one cell.
std::vector<int> Order(const TorchLayout& layout, const Dims& dims) {
  std::vector<int> order;
  for (const std::vector<int>& group : layout.groups) {
    absl::c_copy_if(group, std::back_inserter(order),
                    [&](int axis) { return dims[axis] != 1; });
  }
  return order;
}

// Adds how many cells there are up to the end of a further axis.
void AddEnd(int64_t size, Dims& ends) {
  if (size != 1) ends.push_back(size * (ends.empty() ? 1 : ends.back()));
}

// Copies cells of one size: those of `to` have the dims and are row-major, and
// `from` has such strides, in bytes. Axes that are far apart in the one and
// near in the other are walked in tiles.
struct Transposition {
  size_t size;
  Dims dims;
  std::vector<int64_t> strides;
  std::byte* to;

  void Copy(const std::byte* from) { Copy(from, 0); }

 private:
  static constexpr int64_t kTile = 32;

  void Copy(const std::byte* from, size_t axis) {
    if (axis + 2 < dims.size()) {
      for (int64_t i = 0; i < dims[axis]; ++i) {
        Copy(from + i * strides[axis], axis + 1);
      }
      return;
    }
    const int64_t rows = dims.size() < 2 ? 1 : dims[axis];
    const int64_t columns = dims.empty() ? 1 : dims.back();
    const int64_t row = dims.size() < 2 ? 0 : strides[axis];
    const int64_t column = dims.empty() ? 0 : strides.back();
    for (int64_t first = 0; first < columns; first += kTile) {
      const int64_t end = std::min(columns, first + kTile);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = first; j < end; ++j) {
          std::memcpy(to + (i * columns + j) * size,
                      from + i * row + j * column, size);
        }
      }
    }
    to += rows * columns * size;
  }
};

}  // namespace

absl::flat_hash_map<TensorId, TorchLayout> TorchLayouts(
    const Model& model, absl::Span<const Tensor> params) {
  const Graph& graph = model.graph;
  absl::flat_hash_map<TensorId, TensorId> copies;  // of which parameter
  for (Tensor param : params) copies.emplace(param.id, param.id);
  absl::flat_hash_map<TensorId, TorchLayout> layouts;
  // Whether cell for cell, as of weights with a mask.
  auto is_changed_alone = [&](TensorId id, const ComputeSource& use,
                              TensorId param) {
    const auto shape = model.shapes.find(id);
    if (!std::holds_alternative<ComputeSource::Pointwise>(use.logic) ||
        shape == model.shapes.end() ||
        shape->second.rows != model.shapes.at(param).rows) {
      return false;
    }
    return absl::c_all_of(use.operands, [&](TensorId operand) {
      const TensorSource& source = graph[operand].source;
      return copies.contains(operand) ||
             std::holds_alternative<NumberSource>(source) ||
             std::holds_alternative<DataSource>(source);
    });
  };
  for (TensorId id{0}; id.index < graph.size(); ++id.index) {
    const TensorSource& source = graph[id].source;
    if (const auto* reshape = std::get_if<ReshapeSource>(&source)) {
      const auto copy = copies.find(reshape->of);
      if (copy != copies.end()) layouts[copy->second] = kUnknown;
    }
    const auto* use = std::get_if<ComputeSource>(&source);
    if (use == nullptr) continue;
    for (size_t k = 0; k < use->operands.size(); ++k) {
      const auto copy = copies.find(use->operands[k]);
      if (copy == copies.end()) continue;
      const TensorId param = copy->second;
      if (SumsAll(*use)) continue;
      const auto layout = LayoutInUse(*use, k, model.shapes.at(param));
      if (layout) {
        const auto [found, is_new] = layouts.emplace(param, *layout);
        if (!is_new && found->second != *layout) found->second = kUnknown;
      } else if (is_changed_alone(id, *use, param)) {
        copies.emplace(id, param);
      }
    }
  }
  for (Tensor param : params) {
    std::vector<int> axes(model.shapes.at(param.id).dims().size());
    absl::c_iota(axes, 0);
    layouts.emplace(param.id, TorchLayout{.groups = {std::move(axes)}});
  }
  return layouts;
}

bool Reorders(const TorchLayout& layout, const Dims& dims) {
  return !absl::c_is_sorted(Order(layout, dims));
}

bool FitsTorch(const TorchLayout& layout, const Dims& dims,
               const Dims& in_file) {
  size_t axis = 0;  // of the file
  for (const std::vector<int>& group : layout.groups) {
    Dims ends;  // of axes of the group: cells so far
    for (int each : group) AddEnd(dims[each], ends);
    const int64_t all = ends.empty() ? 1 : ends.back();
    Dims ends_in_file;
    int64_t cells = 1;
    while (axis < in_file.size() && (cells < all || in_file[axis] == 1)) {
      const int64_t size = in_file[axis++];
      if (size < 1 || size > all / cells) return false;
      AddEnd(size, ends_in_file);
      cells *= size;
    }
    if (cells != all || !(absl::c_includes(ends, ends_in_file) ||
                          absl::c_includes(ends_in_file, ends))) {
      return false;
    }
  }
  return axis == in_file.size();
}

NdArray FromTorch(const TorchLayout& layout, const Dims& dims,
                  const NdArray& array) {
  CHECK(!layout.is_unknown && array.size() == NumElements(dims));
  if (!Reorders(layout, dims)) return array.Reshaped(dims);
  const std::vector<int> order = Order(layout, dims);
  std::vector<int64_t> strides(dims.size());
  auto stride = static_cast<int64_t>(SizeOf(array.dtype()));
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    strides[*axis] = stride;
    stride *= dims[*axis];
  }
  NdArray ours(array.dtype(), dims);
  Transposition{.size = SizeOf(array.dtype()),
                .dims = dims,
                .strides = strides,
                .to = ours.data()}
      .Copy(array.data());
  return ours;
}

}  // namespace ocannl::train
