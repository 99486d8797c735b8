// SPDX-License-Identifier: Apache-2.0
#include "tests/blocks/dual_code.h"

#include <cmath>
#include <optional>
#include <variant>

#include "ocannl/core/base/check.h"
#include "ocannl/core/base/containers/stable_vector.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl {
namespace {

Dual Accumulate(Op accum, Dual a, Dual b) {
  switch (accum) {
    case Op::kAdd:
      return {a.value + b.value, a.slope + b.slope};
    case Op::kMax:
      return b.value > a.value || std::isnan(b.value) ? b : a;
    case Op::kMin:
      return b.value < a.value || std::isnan(b.value) ? b : a;
    default:
      CHECK(false) << "no code of blocks accumulates so";
      __builtin_unreachable();
  }
}

class Runner {
 public:
  Runner(Assignments& code, DualArrays& arrays)
      : code_(code), arrays_(arrays) {}

  void Run(const Assign& assign) {
    std::vector<Dual>& lhs = Cells(assign.lhs);
    if (assign.reset) {
      lhs.assign(lhs.size(), {.value = NeutralElement(*assign.accum)});
    }
    // Where no gradient flows back, there is a derivative all the same.
    const ExprId rhs = Rewrite(code_.exprs, assign.rhs, [&](ExprId id) {
      const auto* apply = std::get_if<Apply>(&code_.exprs[id]);
      if (apply == nullptr || apply->op != Op::kBitcast) return id;
      const ExprId arg = apply->args[0];
      return TypeOf(code_.exprs, arg) == apply->dtype ? arg : id;
    });
    HasIntegers(rhs);
    point_.assign(assign.extents.size(), 0);
    do {
      std::optional<size_t> cell = CellAt(assign.lhs, TargetAt(assign));
      if (!cell) continue;
      const Dual value = Evaluate(assign, rhs);
      lhs[*cell] =
          assign.accum ? Accumulate(*assign.accum, lhs[*cell], value) : value;
    } while (Next(assign.extents));
  }

 private:
  std::vector<Dual>& Cells(int32_t array) {
    std::vector<Dual>& cells = arrays_[code_.arrays[array].name];
    cells.resize(NumElements(code_.arrays[array].dims));
    return cells;
  }

  // The next point of the loops, if there is one.
  bool Next(const LoopExtents& extents) {
    for (int32_t k = extents.next_id().index; k-- > 0;) {
      if (++point_[{k}] < extents[{k}]) return true;
      point_[{k}] = 0;
    }
    return false;
  }

  int64_t At(const Affine& index) const {
    int64_t value = index.offset();
    for (const Affine::Term& term : index.terms()) {
      const bool is_static = term.symbol.kind == Symbol::kStatic;
      value += term.factor *
               (is_static ? kStaticOfDuals : point_[term.symbol.iterator()]);
    }
    return value;
  }

  // None where the indices are outside of the array.
  std::optional<size_t> CellAt(int32_t array, const Indices& indices) const {
    const Dims& dims = code_.arrays[array].dims;
    int64_t cell = 0;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const int64_t at = At(indices[axis]);
      if (at < 0 || at >= dims[axis]) return std::nullopt;
      cell = cell * dims[axis] + at;
    }
    return cell;
  }

  void HasIntegers(ExprId rhs) {
    integers_ = false;
    auto look = [&](DType dtype) { integers_ = integers_ || IsInteger(dtype); };
    WalkNodes(code_.exprs, rhs, [&](const ExprNode& node) {
      if (const auto* leaf = std::get_if<Leaf>(&node)) look(leaf->dtype);
      if (const auto* apply = std::get_if<Apply>(&node)) look(apply->dtype);
    });
  }

  Indices TargetAt(const Assign& assign) {
    Indices target = assign.lhs_indices;
    if (assign.lookup) {
      const auto& ids = std::get<ReadArray>(assign.sources[assign.lookup->ids]);
      target[assign.lookup->axis] = IdAt(ids);
    }
    return target;
  }

  int64_t IdAt(const ReadArray& ids) {
    const Dual& id = Cells(ids.array)[*CellAt(ids.array, ids.indices)];
    return static_cast<int64_t>(id.value);
  }

  // What the source reads, looked up.
  ReadArray ReadAt(const Source& source) {
    const auto* lookup = std::get_if<ReadLookup>(&source);
    if (lookup == nullptr) return std::get<ReadArray>(source);
    ReadArray read = *lookup->table;
    read.indices[lookup->axis] = IdAt(*lookup->ids);
    return read;
  }

  Dual Evaluate(const Assign& assign, ExprId rhs) {
    absl::flat_hash_map<int, Dual> leaves;
    for (size_t k = 0; k < assign.sources.size(); ++k) {
      if (const auto* index = std::get_if<ReadIndex>(&assign.sources[k])) {
        leaves[k] = {.value = static_cast<double>(At(index->index))};
        continue;
      }
      ReadArray read = ReadAt(assign.sources[k]);
      std::optional<size_t> cell = CellAt(read.array, read.indices);
      leaves[k] = cell ? Cells(read.array)[*cell] : Dual{.value = read.outside};
    }
    if (!integers_) {
      return DualEvaluator(code_.exprs, leaves).Eval(rhs);
    }
    ExprId constant = Rewrite(code_.exprs, rhs, [&](ExprId id) -> ExprId {
      const Leaf* leaf = std::get_if<Leaf>(&code_.exprs[id]);
      if (leaf == nullptr) return id;
      return Literal(code_.exprs, leaf->dtype, leaves.at(leaf->id).value).id();
    });
    return {.value = ToDouble(Fold(code_.exprs, constant))};
  }

  Assignments& code_;
  DualArrays& arrays_;
  IdVector<IteratorId, int64_t> point_;
  bool integers_ = false;  // in what is assigned
};

}  // namespace

void RunDual(Assignments code, DualArrays& arrays) {
  const StableVector<Assignment> list = code.list;
  Runner runner(code, arrays);
  for (const Assignment& assignment : list) {
    const Assign* assign = std::get_if<Assign>(&assignment);
    if (assign != nullptr) runner.Run(*assign);
  }
}

}  // namespace ocannl
