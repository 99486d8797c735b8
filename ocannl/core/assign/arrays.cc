// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/arrays.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/loops.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/index/reshape.h"
#include "ocannl/core/shape/rules.h"
#include "ocannl/core/tensor/defined_op.h"
#include "ocannl/core/tensor/memory_mode.h"

namespace ocannl {

Array ValueArray(const Graph& graph, const Shapes& shapes, TensorId id) {
  const TensorNode& node = graph[id];
  Array array{.name = node.name,
              .dtype = node.dtype,
              .dims = shapes.at(id).dims(),
              .memory = node.memory};
  array.where = node.where;
  if (const auto* data = std::get_if<DataSource>(&node.source)) {
    array.data = data->data;
  }
  return array;
}

Array GradientArray(const Graph& graph, const Shapes& shapes, TensorId id) {
  Array array{.name = absl::StrCat(graph[id].name, kGradientSuffix),
              .dtype = graph[id].dtype,
              .dims = shapes.at(id).dims()};
  array.where = graph[id].where;
  return array;
}

bool IsStored(const Array& array) {
  return array.data != nullptr || IsKept(array.memory);
}

std::optional<Indices> RepeatIndices(const Shape& from, const Shape& of) {
  const Dims one = from.dims();
  if (NumElements(one) == 1) return Indices(one.size(), Affine(0));
  const CellLoops loops(of.dims());
  Indices indices;
  size_t begin = 0;
  for (RowKind kind : kRowKinds) {
    const Dims& few = from[kind];
    const Dims& all = of[kind];
    if (few.size() > all.size()) return std::nullopt;
    const size_t skipped = all.size() - few.size();
    for (size_t axis = 0; axis < few.size(); ++axis) {
      if (few[axis] != 1 && few[axis] != all[skipped + axis]) {
        return std::nullopt;
      }
      indices.push_back(few[axis] == 1 ? Affine(0)
                                       : loops.indices[begin + skipped + axis]);
    }
    begin += all.size();
  }
  return indices;
}

void AssignPointwise(Assignments& code, int32_t lhs, std::optional<Op> accum,
                     ExprId rhs, absl::Span<const int32_t> sources) {
  const Dims& dims = code.arrays[lhs].dims;
  CellLoops loops(dims);
  std::vector<Source> reads;
  reads.reserve(sources.size());
  for (int32_t source : sources) {
    const Dims& from = code.arrays[source].dims;
    bool one_cell = NumElements(from) == 1;
    CHECK(one_cell || from == dims) << code.arrays[source].name;
    reads.push_back(ReadArray{
        source, one_cell ? Indices(from.size(), Affine(0)) : loops.indices});
  }
  code.list.push_back(Assign{.lhs = lhs,
                             .accum = accum,
                             .reset = false,
                             .lhs_indices = std::move(loops.indices),
                             .rhs = rhs,
                             .sources = std::move(reads),
                             .extents = std::move(loops.extents)});
}

void AssignReshaped(Assignments& code, int32_t lhs, std::optional<Op> accum,
                    int32_t source) {
  const std::vector<Projections> nests =
      Reshaping(code.arrays[source].dims, code.arrays[lhs].dims);
  for (const Projections& nest : nests) {
    const bool is_last = &nest == &nests.back();
    int32_t to = lhs;
    if (!is_last) {
      const Array& whole = code.arrays[lhs];
      Array flat = Intermediate(absl::StrCat(whole.name, ".flat"), whole);
      flat.dims = {NumElements(flat.dims)};
      to = code.AddArray(std::move(flat));
    }
    const DType dtype = ComputeDType(code.arrays[source].dtype);
    Expr leaf = MakeLeaf(code.exprs, dtype, 0);
    code.list.push_back(Assign{.lhs = to,
                               .accum = is_last ? accum : std::nullopt,
                               .reset = false,
                               .lhs_indices = nest.lhs,
                               .rhs = leaf.id(),
                               .sources = {ReadArray{source, nest.operands[0]}},
                               .extents = nest.extents});
    source = to;
  }
}

size_t AxisOf(const Shapes& shapes, const ScanSource& scan) {
  const Shape& shape = shapes.at(scan.of);
  size_t axis = 0;
  for (RowKind kind : kRowKinds) {
    const EinsumRow& row = scan.spec->result[static_cast<int>(kind)];
    for (const EinsumAxis& each :
         ExpandRow(row, static_cast<int>(shape[kind].size()), 0)) {
      if (each.name == scan.axis) return axis;
      ++axis;
    }
  }
  CHECK(false) << "no axis " << scan.axis;
  __builtin_unreachable();
}

void AssignRunningSums(Assignments& code, int32_t lhs, std::optional<Op> accum,
                       int32_t source, size_t axis, bool backwards) {
  const Array whole = code.arrays[lhs];
  const DType dtype = ComputeDType(whole.dtype);
  const ExprId cell = MakeLeaf(code.exprs, dtype, 0).id();
  int32_t sums = lhs;
  if (accum || dtype != whole.dtype) {
    Array wide = Intermediate(absl::StrCat(whole.name, ".sums"), whole);
    wide.dtype = dtype;
    sums = code.AddArray(std::move(wide));
  }
  AssignPointwise(code, sums, std::nullopt, cell, {source});
  Dims dims = whole.dims;
  if (--dims[axis] > 0) {
    const CellLoops loops(dims);
    Indices cells = loops.indices, before = loops.indices;
    if (backwards) {
      cells[axis] = -1 * cells[axis] + (dims[axis] - 1);
      before[axis] = cells[axis] + 1;
    } else {
      cells[axis] += 1;
    }
    code.list.push_back(Assign{.lhs = sums,
                               .accum = Op::kAdd,
                               .reset = false,
                               .lhs_indices = std::move(cells),
                               .rhs = cell,
                               .sources = {ReadArray{sums, std::move(before)}},
                               .extents = loops.extents});
  }
  if (sums != lhs) AssignPointwise(code, lhs, accum, cell, {sums});
}

Expr OperandLeaf(ExprPool& pool, const Graph& graph,
                 const ComputeSource& source, size_t k, int leaf) {
  const DType dtype = graph[source.operands[k]].dtype;
  return MakeLeaf(pool, source.op == Op::kBitcast ? dtype : ComputeDType(dtype),
                  leaf);
}

Expr Term(const ComputeSource& source, absl::Span<const Expr> args,
          DType dtype) {
  if (source.defined != nullptr) return TermOf(*source.defined, args);
  if (!source.op) return args[0];
  // A sum fuses with the last of the products, as with that of two operands.
  if (source.op == Op::kMul3 || (source.op == Op::kMul && args.size() > 2)) {
    Expr product = args[0];
    for (const Expr& factor : args.subspan(1)) product = product * factor;
    return product;
  }
  if (source.op == Op::kBitcast) return Bitcast(args[0], dtype);
  return ApplyOp(*source.op, args, dtype);
}

double OutsideOf(const ComputeSource& source) {
  return source.accum ? NeutralElement(*source.accum) : 0;
}

}  // namespace ocannl
