// SPDX-License-Identifier: Apache-2.0
#include "tests/support/dual_program.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/overload.h"

namespace ocannl {
namespace {

class Runner {
 public:
  Runner(LoopProgram program, const DualArrays& inputs)
      : program_(std::move(program)), locals_(program_.locals.size()) {
    for (const Buffer& buffer : program_.buffers) {
      auto given = inputs.find(buffer.name);
      cells_.push_back(given != inputs.end()
                           ? given->second
                           : std::vector<Dual>(NumElements(buffer.dims)));
      CHECK_EQ(static_cast<int64_t>(cells_.back().size()),
               NumElements(buffer.dims));
    }
  }

  DualArrays Run() {
    RunBlock(program_.body);
    DualArrays result;
    for (BufferId k : cells_.ids()) {
      result[program_.buffers[k].name] = std::move(cells_[k]);
    }
    return result;
  }

 private:
  void RunBlock(const Block& block) {
    for (const Stmt& stmt : block.stmts) {
      std::visit(Overload{[&](const For& loop) { RunLoop(loop); },
                          [&](const Set& set) {
                            Dual value = Value(set.value);
                            CellOf(set.target) = value;
                          },
                          [&](const Scatter& scatter) {
                            Dual value = Value(scatter.value);
                            auto cell = At(program_.TargetOf(scatter));
                            if (cell) CellOf(*cell) = value;
                          },
                          [&](const ZeroOut& zero) {
                            for (Dual& cell : cells_[zero.buffer]) cell = {};
                          },
                          [](const Comment&) {},
                          [&](const DeclareLocal& local) {
                            locals_[local.local] = Value(local.value);
                          },
                          [&](const SetLocal& local) {
                            locals_[local.local] = Value(local.value);
                          }},
                 static_cast<const Stmt::variant&>(stmt));
    }
  }

  void RunLoop(const For& loop) {
    for (int64_t i = 0; i < loop.extent; ++i) {
      iterators_[loop.iterator] = i;
      RunBlock(loop.body);
    }
  }

  int64_t At(const Affine& index) const {
    int64_t value = index.offset();
    for (const Affine::Term& term : index.terms()) {
      if (term.symbol.kind == Symbol::kStatic) continue;
      value += term.factor * iterators_.at(term.symbol.iterator());
    }
    return value;
  }

  Dual& CellOf(const Access& access) {
    const Dims& dims = program_.buffers[access.buffer].dims;
    int64_t cell = 0;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const int64_t index = At(access.indices[axis]);
      CHECK(index >= 0 && index < dims[axis]);
      cell = cell * dims[axis] + index;
    }
    return cells_[access.buffer][cell];
  }

  std::optional<Access> At(const Lookup& lookup) {
    const auto row = static_cast<int64_t>(CellOf(*lookup.index).value);
    const Dims& dims = program_.buffers[lookup.cell.buffer].dims;
    if (row < 0 || row >= dims[lookup.axis]) return std::nullopt;
    Access cell = lookup.cell;
    cell.indices[lookup.axis] = row;
    return cell;
  }

  Dual Value(ExprId value) {
    absl::flat_hash_map<int, Dual> leaves;
    WalkNodes(program_.exprs, value, [&](const ExprNode& node) {
      const Leaf* leaf = std::get_if<Leaf>(&node);
      if (leaf == nullptr) return;
      leaves[leaf->id] = std::visit(
          Overload{[&](const Access& access) { return CellOf(access); },
                   [&](const Lookup& lookup) {
                     std::optional<Access> cell = At(lookup);
                     return cell ? CellOf(*cell) : Dual();
                   },
                   [&](const Affine& index) {
                     return Dual{.value = static_cast<double>(At(index))};
                   },
                   [&](const GetLocal& get) { return locals_[get.local]; }},
          program_.At(*leaf));
    });
    return DualEvaluator(program_.exprs, std::move(leaves)).Eval(value);
  }

  LoopProgram program_;
  IdVector<LocalId, Dual> locals_;
  IdVector<BufferId, std::vector<Dual>> cells_;
  absl::flat_hash_map<IteratorId, int64_t> iterators_;
};

}  // namespace

DualArrays RunOnDuals(LoopProgram program, const DualArrays& inputs) {
  return Runner(std::move(program), inputs).Run();
}

}  // namespace ocannl
