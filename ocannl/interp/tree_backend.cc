// SPDX-License-Identifier: Apache-2.0
#include "ocannl/interp/tree_backend.h"

#include <cstring>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/eval.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl::interp {
namespace {

// Every node of an expression made of primitives in post-order, by the node of
// the program that it stands for.
using PostOrders = absl::flat_hash_map<ExprId, std::vector<ExprId>>;

std::vector<ExprId> PostOrder(const ExprPool& pool, ExprId root) {
  std::vector<ExprId> order;
  NodeMap<bool> done;
  VisitOnce<bool>(pool, root, done, [&](ExprId id) {
    order.push_back(id);
    return true;
  });
  return order;
}

// One run.
class Walker : public RunState {
 public:
  Walker(const LoopProgram& program, const PostOrders& orders,
         absl::Span<const std::unique_ptr<RunObserver>> observers,
         absl::Span<std::byte* const> buffers,
         absl::Span<const int64_t> statics)
      : program_(program),
        orders_(orders),
        observers_(observers),
        buffers_(buffers),
        statics_(statics),
        locals_(program.locals.size()),
        values_(program.exprs.size()),
        written_(program.buffers.size()) {}

  const LoopProgram& program() const override { return program_; }
  absl::Span<const int64_t> statics() const override { return statics_; }
  absl::Span<const LoopAt> loops() const override { return loops_; }

  int64_t ValueOf(Symbol symbol) const override {
    if (symbol.kind == Symbol::kStatic) return statics_[symbol.number];
    return absl::c_find_if(loops_,
                           [&](const LoopAt& loop) {
                             return loop.iterator == symbol.iterator();
                           })
        ->value;
  }

  std::optional<Constant> Read(const LeafValue& leaf) const override {
    if (const Access* access = std::get_if<Access>(&leaf)) {
      if (!IsWritten(*access)) return std::nullopt;
    }
    if (const Lookup* lookup = std::get_if<Lookup>(&leaf)) {
      if (!IsWritten(*lookup->index)) return std::nullopt;
      const std::optional<Access> cell = CellOf(*lookup);
      if (cell && !IsWritten(*cell)) return std::nullopt;
    }
    return Eval(leaf);
  }

  Constant ValueOf(ExprId node) const override { return Eval(node); }

  absl::Status Run() {
    if (observers_.empty()) return Run(program_.body);
    for (BufferId k : program_.buffers.ids()) {
      const Buffer& buffer = program_.buffers[k];
      if (IsInput(buffer.role)) continue;
      written_[k].resize(NumElements(buffer.dims));
    }
    absl::Status status;
    for (const auto& observer : observers_) {
      status.Update(observer->Starts(*this));
    }
    if (status.ok()) status = Run(program_.body);
    for (const auto& observer : observers_) status.Update(observer->Ends());
    return status;
  }

 private:
  absl::Status Run(const Block& block) {
    for (const Stmt& stmt : block.stmts) {
      if (const auto* loop = std::get_if<For>(&stmt)) {
        OCANNL_RETURN_IF_ERROR(Run(*loop));
      } else if (IsOutOfBounds(stmt)) {
        continue;
      } else if (const ExprId* value = ocannl::ValueOf(stmt)) {
        const Constant result = Eval(*value);
        for (const auto& observer : observers_) {
          OCANNL_RETURN_IF_ERROR(observer->Stores(*this, stmt, result));
        }
        Store(stmt, result);
      } else {
        for (const auto& observer : observers_) {
          OCANNL_RETURN_IF_ERROR(observer->Meets(*this, stmt));
        }
        if (const auto* zero = std::get_if<ZeroOut>(&stmt)) Zero(zero->buffer);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Run(const For& loop) {
    for (int64_t i = 0; i < loop.extent; ++i) {
      loops_.push_back({.iterator = loop.iterator, .value = i});
      OCANNL_RETURN_IF_ERROR(Run(loop.body));
      loops_.pop_back();
    }
    return absl::OkStatus();
  }

  // Whether the statement would store to a row out of bounds.
  bool IsOutOfBounds(const Stmt& stmt) const {
    const auto* scatter = std::get_if<Scatter>(&stmt);
    return scatter != nullptr && !CellOf(program_.TargetOf(*scatter));
  }

  void Store(const Access& target, const Constant& value) {
    const int64_t cell = CellOf(target);
    std::memcpy(AddressOf(target.buffer, cell), &value.bits,
                SizeOf(value.dtype));
    std::vector<bool>& written = written_[target.buffer];
    if (!written.empty()) written[cell] = true;
  }

  void Store(const Stmt& stmt, const Constant& value) {
    if (const auto* set = std::get_if<Set>(&stmt)) {
      Store(set->target, value);
    } else if (const auto* scatter = std::get_if<Scatter>(&stmt)) {
      Store(*CellOf(program_.TargetOf(*scatter)), value);
    } else if (const auto* let = std::get_if<DeclareLocal>(&stmt)) {
      locals_[let->local] = value;
    } else {
      locals_[std::get<SetLocal>(stmt).local] = value;
    }
  }

  void Zero(BufferId id) {
    const Buffer& buffer = program_.buffers[id];
    std::memset(AddressOf(id, 0), 0,
                NumElements(buffer.dims) * SizeOf(buffer.dtype));
    absl::c_fill(written_[id], true);
  }

  int64_t Eval(const Affine& index) const {
    // Indices that are read as numbers may wrap around.
    uint64_t sum = index.offset();
    for (const Affine::Term& term : index.terms()) {
      sum += static_cast<uint64_t>(term.factor) *
             static_cast<uint64_t>(ValueOf(term.symbol));
    }
    return static_cast<int64_t>(sum);
  }

  int64_t CellOf(const Access& access) const {
    const Buffer& buffer = program_.buffers[access.buffer];
    int64_t cell = 0;
    for (size_t axis = 0; axis < access.indices.size(); ++axis) {
      int64_t index = Eval(access.indices[axis]);
      CHECK(index >= 0 && index < buffer.dims[axis]);
      cell = cell * buffer.dims[axis] + index;
    }
    return cell;
  }

  // The cell that is looked up, if there is one.
  std::optional<Access> CellOf(const Lookup& lookup) const {
    const Dims& dims = program_.buffers[lookup.cell.buffer].dims;
    const Constant index = Eval(*lookup.index);
    // As wide as any index; as unsigned, a negative one is greater than any
    // size.
    const uint64_t row = EvalPrimitive(Op::kConvert, DType::kI64, {index}).bits;
    if (row >= static_cast<uint64_t>(dims[lookup.axis])) return std::nullopt;
    Access cell = lookup.cell;
    cell.indices[lookup.axis] = static_cast<int64_t>(row);
    return cell;
  }

  bool IsWritten(const Access& access) const {
    const std::vector<bool>& written = written_[access.buffer];
    return written.empty() || written[CellOf(access)];
  }

  std::byte* AddressOf(BufferId buffer, int64_t cell) const {
    return buffers_[buffer.index] +
           cell * SizeOf(program_.buffers[buffer].dtype);
  }

  Constant Eval(const Access& access) const {
    const DType dtype = program_.buffers[access.buffer].dtype;
    uint64_t bits = 0;
    std::memcpy(&bits, AddressOf(access.buffer, CellOf(access)), SizeOf(dtype));
    return FromBits(dtype, bits);
  }

  Constant Eval(const LeafValue& leaf) const {
    return std::visit(
        Overload{
            [&](const Access& access) { return Eval(access); },
            [&](const Lookup& lookup) {
              const std::optional<Access> cell = CellOf(lookup);
              const DType dtype = program_.buffers[lookup.cell.buffer].dtype;
              return cell ? Eval(*cell) : FromBits(dtype, 0);
            },
            [&](const GetLocal& get) { return locals_[get.local]; },
            [&](const Affine& index) {
              return FromBits(DType::kI64, Eval(index));
            },
        },
        leaf);
  }

  Constant Eval(ExprId value) const {
    const std::vector<ExprId>& order = orders_.at(value);
    for (ExprId id : order) {
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
    return values_[order.back().index];
  }

  const LoopProgram& program_;
  const PostOrders& orders_;
  absl::Span<const std::unique_ptr<RunObserver>> observers_;
  absl::Span<std::byte* const> buffers_;
  absl::Span<const int64_t> statics_;
  std::vector<LoopAt> loops_;
  IdVector<LocalId, Constant> locals_;
  mutable std::vector<Constant> values_;  // of the nodes, by id
  // Of the cells of each buffer; empty: all, or nobody asks.
  IdVector<BufferId, std::vector<bool>> written_;
};

class TreeExecutable : public Executable {
 public:
  TreeExecutable(LoopProgram program, Observation* observation)
      : program_(std::move(program)), observation_(*observation) {
    WalkStmts(program_.body, [&](const Stmt& stmt) {
      const ExprId* value = ocannl::ValueOf(stmt);
      if (value == nullptr) return;
      if (observation_.observers.empty()) return AddOrder(*value);
      for (ExprId node : PostOrder(program_.exprs, *value)) AddOrder(node);
    });
  }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    Walker walker(program_, orders_, observation_.observers, buffers, statics);
    if (observation_.observers.empty()) {
      CHECK_OK(walker.Run());
      return;
    }
    std::lock_guard<std::mutex> lock(observation_.mutex);
    if (observation_.status.ok()) observation_.status = walker.Run();
  }

 private:
  void AddOrder(ExprId node) {
    auto [order, is_new] = orders_.try_emplace(node);
    if (!is_new) return;
    order->second = PostOrder(program_.exprs, Expand(program_.exprs, node));
  }

  LoopProgram program_;
  PostOrders orders_;
  Observation& observation_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> TreeBackend::Compile(
    const LoopProgram& program) const {
  return std::make_unique<TreeExecutable>(program, &observation_);
}

absl::StatusOr<std::unique_ptr<Executable>> TreeBackend::CompileHot(
    const LoopProgram& program) const {
  if (observation_.observers.empty()) return Compile(program);
  return absl::UnimplementedError("routines that are watched stay apart");
}

absl::Status TreeBackend::RunStatus() const {
  std::lock_guard<std::mutex> lock(observation_.mutex);
  return observation_.status;
}

}  // namespace ocannl::interp
