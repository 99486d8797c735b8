// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/tree_backend.h"

#include <cstring>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/eval.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl::fuzz {
namespace {

// Every node of a value, operands first.
using NodeOrders = absl::flat_hash_map<ExprId, std::vector<ExprId>>;

std::vector<ExprId> OperandsFirst(const ExprPool& pool, ExprId root) {
  std::vector<ExprId> order;
  absl::flat_hash_set<ExprId> done;
  std::vector<ExprId> stack = {root};
  while (!stack.empty()) {
    ExprId id = stack.back();
    bool ready = true;
    if (const Apply* apply = std::get_if<Apply>(&pool[id])) {
      for (ExprId arg : apply->args) {
        if (done.contains(arg)) continue;
        stack.push_back(arg);
        ready = false;
      }
    }
    if (!ready) continue;
    stack.pop_back();
    if (done.insert(id).second) order.push_back(id);
  }
  return order;
}

// One run.
class Walker {
 public:
  Walker(const LoopProgram& program, const NodeOrders& orders,
         absl::Span<std::byte* const> buffers,
         absl::Span<const int64_t> statics)
      : program_(program),
        orders_(orders),
        buffers_(buffers),
        statics_(statics),
        locals_(program.locals.size()),
        values_(program.exprs.size()) {}

  void Run(const Block& block) {
    for (const Stmt& stmt : block.stmts) {
      std::visit(
          Overload{
              [&](const For& loop) {
                for (int64_t i = 0; i < loop.extent; ++i) {
                  iterators_[loop.iterator] = i;
                  Run(loop.body);
                }
              },
              [&](const Set& set) {
                Constant value = Eval(set.value);
                std::memcpy(Cell(set.target), &value.bits, SizeOf(value.dtype));
              },
              [&](const DeclareLocal& let) {
                locals_[let.local] = Eval(let.value);
              },
              [&](const SetLocal& set) {
                locals_[set.local] = Eval(set.value);
              },
              [&](const ZeroOut& zero) {
                const Buffer& buffer = program_.buffers[zero.buffer];
                std::memset(buffers_[zero.buffer], 0,
                            NumElements(buffer.dims) * SizeOf(buffer.dtype));
              },
              [&](const Comment&) {},
          },
          static_cast<const Stmt::variant&>(stmt));
    }
  }

 private:
  int64_t Eval(const Affine& index) const {
    // Indices that are read as numbers may wrap around.
    uint64_t sum = index.offset();
    for (const Affine::Term& term : index.terms()) {
      int32_t number = term.symbol.number;
      uint64_t value = term.symbol.kind == Symbol::kStatic
                           ? statics_[number]
                           : iterators_.at(number);
      sum += static_cast<uint64_t>(term.factor) * value;
    }
    return static_cast<int64_t>(sum);
  }

  std::byte* Cell(const Access& access) const {
    const Buffer& buffer = program_.buffers[access.buffer];
    int64_t cell = 0;
    for (size_t axis = 0; axis < access.indices.size(); ++axis) {
      int64_t index = Eval(access.indices[axis]);
      CHECK(index >= 0 && index < buffer.dims[axis]);
      cell = cell * buffer.dims[axis] + index;
    }
    return buffers_[access.buffer] + cell * SizeOf(buffer.dtype);
  }

  Constant Eval(const LeafValue& leaf) const {
    return std::visit(
        Overload{
            [&](const Access& access) {
              DType dtype = program_.buffers[access.buffer].dtype;
              uint64_t bits = 0;
              std::memcpy(&bits, Cell(access), SizeOf(dtype));
              return FromBits(dtype, bits);
            },
            [&](const GetLocal& get) { return locals_[get.local]; },
            [&](const Affine& index) {
              return FromBits(DType::kI64, Eval(index));
            },
        },
        leaf);
  }

  Constant Eval(ExprId value) {
    for (ExprId id : orders_.at(value)) {
      values_[id.index] = std::visit(
          Overload{
              [&](const Constant& constant) { return constant; },
              [&](const Leaf& leaf) { return Eval(program_.At(leaf)); },
              [&](const Apply& apply) {
                absl::InlinedVector<Constant, 3> args;
                for (ExprId arg : apply.args) {
                  args.push_back(values_[arg.index]);
                }
                return EvalPrimitive(apply.op, apply.dtype, args);
              },
          },
          program_.exprs[id]);
    }
    return values_[value.index];
  }

  const LoopProgram& program_;
  const NodeOrders& orders_;
  absl::Span<std::byte* const> buffers_;
  absl::Span<const int64_t> statics_;
  std::vector<Constant> locals_;
  std::vector<Constant> values_;  // of the nodes, by id
  absl::flat_hash_map<int32_t, int64_t> iterators_;
};

class TreeExecutable : public Executable {
 public:
  explicit TreeExecutable(LoopProgram program) : program_(std::move(program)) {
    RewriteValues(program_.body, [&](ExprId value) {
      ExprId expanded = Expand(program_.exprs, value);
      orders_[expanded] = OperandsFirst(program_.exprs, expanded);
      return expanded;
    });
  }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    Walker(program_, orders_, buffers, statics).Run(program_.body);
  }

 private:
  LoopProgram program_;
  NodeOrders orders_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> TreeBackend::Compile(
    const LoopProgram& program) const {
  return std::make_unique<TreeExecutable>(program);
}

}  // namespace ocannl::fuzz
