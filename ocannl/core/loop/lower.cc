// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/lower.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/constants.h"
#include "ocannl/core/assign/loops.h"
#include "ocannl/core/assign/pad.h"
#include "ocannl/core/assign/stored.h"
#include "ocannl/core/assign/sums/cascade.h"
#include "ocannl/core/assign/sums/steps.h"
#include "ocannl/core/assign/widen.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/loop/must_write.h"
#include "ocannl/core/loop/split_reduce.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/depth.h"
#include "ocannl/core/tensor/memory_mode.h"

namespace ocannl {
namespace {

// The role of an array that is not kept after a run.
Role RoleOfScratch(const Array& array) {
  const MemoryMode mode =
      array.memory ? array.memory->mode : MemoryMode::kMaterialized;
  if (mode == MemoryMode::kVirtual) return Role::kVirtual;
  const bool is_local = mode == MemoryMode::kNeverVirtual ||
                        mode == MemoryMode::kLocal ||
                        mode == MemoryMode::kDeviceOnly;
  return is_local ? Role::kLocal : Role::kTemp;
}

class Lowering {
 public:
  // `owned`, if any, is `code`. `sums` are arrays of it.
  Lowering(const Assignments& code, Assignments* owned, const PartialSums& sums)
      : code_(code), owned_(owned), plan_(PlanSteps(code, sums)) {}

  absl::StatusOr<LoopProgram> Run() {
    program_.name = RoutineName(code_);
    OCANNL_RETURN_IF_ERROR(code_.contradiction);
    OCANNL_RETURN_IF_ERROR(CheckConstants(code_));
    if (owned_ != nullptr) owned_->numbers = {};
    DeclareStatics();
    readers_add_zero_.resize(code_.arrays.size());
    OCANNL_RETURN_IF_ERROR(DeclareBuffers());
    program_.body.stmts.reserve(
        code_.list.size() -
        absl::c_count_if(plan_.steps,
                         [](const LowerStep& step) { return step.is_elided; }));
    for (size_t k = 0; k < code_.list.size();) {
      std::visit(
          Overload{
              [&](const BlockComment& comment) { Emit(Comment{comment.text}); },
              [&](const Assign& assign) {
                Lower(plan_.steps.front());
                plan_.steps.pop_front();
                first_source_ += assign.sources.size();
              },
          },
          code_.list[k]);
      if (owned_ != nullptr) {
        owned_->list.pop_front();
      } else {
        ++k;
      }
    }
    KeepUnwritten(parts_, program_);
    return std::move(program_);
  }

 private:
  // The iterator of each loop; a loop of one iteration has none.
  using Iterators = IdVector<IteratorId, IteratorId>;

  // The static indices that the code uses.
  void DeclareStatics() {
    static_of_.resize(code_.statics.size(), -1);
    auto use = [&](const Affine& index) {
      for (const Affine::Term& term : index.terms()) {
        if (term.symbol.kind != Symbol::kStatic) continue;
        static_of_[term.symbol.number] = 0;
      }
    };
    for (const Assignment& assignment : code_.list) {
      const Assign* assign = std::get_if<Assign>(&assignment);
      if (assign != nullptr) WalkIndices(*assign, use);
    }
    for (size_t k = 0; k < code_.statics.size(); ++k) {
      if (static_of_[k] < 0) continue;
      const StaticSymbol& index = code_.statics[k];
      static_of_[k] = static_cast<int32_t>(program_.statics.size());
      program_.statics.push_back(
          {.name = index.name, .range = index.range.value_or(kUnranged)});
      // An iterator must not have the name of a static index.
      if (std::optional<IteratorId> iterator = IteratorNamed(index.name)) {
        next_iterator_ = std::max(next_iterator_, {iterator->index + 1});
      }
    }
  }

  // Declares the arrays in use as buffers; frees arrays that it owns.
  absl::Status DeclareBuffers() {
    buffer_of_.resize(code_.arrays.size());
    program_.buffers.reserve(code_.arrays.size());
    for (size_t k = 0; k < buffer_of_.size(); ++k) {
      Array array = owned_ != nullptr ? std::move(owned_->arrays.front())
                                      : code_.arrays[k];
      if (owned_ != nullptr) owned_->arrays.pop_front();
      OCANNL_RETURN_IF_ERROR(
          Declare(std::move(array), plan_.uses[k], buffer_of_[k]));
    }
    return absl::OkStatus();
  }

  absl::Status Declare(Array a, const ArrayUse& use, BufferId& buffer) {
    const auto [is_stored, read_first, written, part_first] = use;
    CHECK((a.data == nullptr && !a.is_merge) || !written) << a.name;
    if (!read_first && !written) return absl::OkStatus();
    if (!is_stored && read_first) {
      return absl::FailedPreconditionError(absl::StrCat(
          "`", a.name, "` is read in `", program_.name, "`, which does not ",
          "compute it first; add its code, or ask SetMemoryMode to keep it"));
    }
    Role role = !is_stored   ? RoleOfScratch(a)
                : a.is_merge ? Role::kMerge
                : !written   ? Role::kIn
                : read_first ? Role::kInOut
                             : Role::kOut;
    buffer = program_.buffers.Add({.name = std::move(a.name),
                                   .dtype = a.dtype,
                                   .role = role,
                                   .dims = std::move(a.dims)});
    if (part_first) parts_.push_back(buffer);
    return absl::OkStatus();
  }

  const Buffer& BufferOf(int32_t array) const {
    return program_.buffers[buffer_of_[array]];
  }

  void Emit(Stmt stmt) { program_.body.stmts.push_back(std::move(stmt)); }

  void Lower(const LowerStep& step) {
    if (step.is_elided) return;
    const Assign& assign = *step.assign;
    readers_add_zero_[assign.lhs] = false;
    EmitSteps(step);
    switch (step.zero_pass) {
      case ZeroPass::kNone:
        return;
      case ZeroPass::kTarget: {
        const Projections cells = TargetLoops(assign);
        return SetCells(assign.lhs, cells.extents, cells.lhs, AddZero);
      }
      case ZeroPass::kArray: {
        const CellLoops cells(BufferOf(assign.lhs).dims);
        return SetCells(assign.lhs, cells.extents, cells.indices, AddZero);
      }
      case ZeroPass::kReaders:
        readers_add_zero_[assign.lhs] = true;
    }
  }

  static Expr AddZero(Expr cell) { return cell + 0; }

  // The loops of the step, without a pass that adds 0.
  void EmitSteps(const LowerStep& step) {
    const Assign& assign = *step.assign;
    if (step.zeroes && !assign.extents.empty()) {
      return Emit(ZeroOut{buffer_of_[assign.lhs]});
    }
    const bool first = step.lanes != nullptr && step.reset && step.reaches_all;
    if (step.reset && !first) Reset(step);
    Iterators iterators = NewIterators(assign.extents);
    Stmt stmt = AssignAt(step, iterators);
    if (step.lanes == nullptr)
      return EmitNest(iterators, assign.extents, std::move(stmt));
    const DType dtype = BufferOf(assign.lhs).dtype;
    Reduction reduction{
        .iterators = std::move(iterators),
        .extents = {assign.extents.begin(), assign.extents.end()},
        .set = std::get<Set>(std::move(stmt)),
        .accum = AccumulationOf(*step.accum, dtype),
        .first = first};
    Emit(SplitReduce(program_, reduction, *step.lanes, next_iterator_));
  }

  // The assignment at one point of its loops.
  Stmt AssignAt(const LowerStep& step, const Iterators& iterators) {
    const Assign& assign = *step.assign;
    auto cell = [&](const ReadArray& read) {
      return Access{buffer_of_[read.array],
                    InLoops(read.indices, assign.extents, iterators)};
    };
    const Overload value_of = {
        [&](const ReadArray& read) -> LeafValue { return cell(read); },
        [&](const ReadLookup& read) -> LeafValue {
          return Lookup{cell(*read.table), read.axis, cell(*read.ids)};
        },
        [&](const ReadIndex& read) -> LeafValue {
          return InLoops({read.index}, assign.extents, iterators)[0];
        },
    };
    ExprMap copies;
    ExprId rhs = CopyExpr(
        code_.exprs, assign.rhs, program_.exprs, copies, [&](const Leaf& leaf) {
          const Source& source = assign.sources[leaf.id];
          Expr value = program_.Read(std::visit(value_of, source));
          const auto* read = std::get_if<ReadArray>(&source);
          if (read != nullptr && readers_add_zero_[read->array] &&
              plan_.shows_signs[first_source_ + leaf.id]) {
            value = AddZero(value);
          }
          return Convert(value, leaf.dtype).id();
        });
    Access target = cell({assign.lhs, assign.lhs_indices});
    std::optional<Lookup> row;
    if (assign.lookup) {
      const Source& ids = assign.sources[assign.lookup->ids];
      row = {target, assign.lookup->axis, cell(std::get<ReadArray>(ids))};
    }
    Expr value(&program_.exprs, rhs);
    if (step.adds_zero == AddsZero::kToTerms) value = AddZero(value);
    if (step.accum) {
      const Expr old = row ? program_.Read(*row) : program_.Read(target);
      value = Accumulated(old, *step.accum, value);
    }
    if (step.adds_zero == AddsZero::kToResults) value = AddZero(value);
    const DType stored = program_.buffers[target.buffer].dtype;
    value = step.accum ? Convert(value, stored) : StoredAs(value, stored);
    if (row) return Scatter{program_.leaves.Add(*row), value.id()};
    return Set{std::move(target), value.id()};
  }

  // Every cell becomes the neutral element, or 0.
  void Reset(const LowerStep& step) {
    const int32_t array = step.assign->lhs;
    const double neutral = step.accum ? NeutralElement(*step.accum) : 0;
    if (neutral == 0) return Emit(ZeroOut{buffer_of_[array]});
    const CellLoops cells(BufferOf(array).dims);
    SetCells(array, cells.extents, cells.indices,
             [&](Expr cell) { return LiteralLike(cell, neutral); });
  }

  // Sets the cells of the array to what `value` makes of each.
  void SetCells(int32_t array, const LoopExtents& extents,
                const Indices& indices, absl::FunctionRef<Expr(Expr)> value) {
    const Iterators iterators = NewIterators(extents);
    Access target{buffer_of_[array], InLoops(indices, extents, iterators)};
    const ExprId set = value(program_.Read(target)).id();
    EmitNest(iterators, extents, Set{std::move(target), set});
  }

  Iterators NewIterators(const LoopExtents& extents) {
    Iterators iterators;
    for (const int64_t extent : extents) {
      iterators.push_back(extent == 1 ? IteratorId{} : next_iterator_++);
    }
    return iterators;
  }

  // Indices of the assignments' loops as indices of the program's.
  Indices InLoops(const Indices& indices, const LoopExtents& extents,
                  const Iterators& iterators) const {
    auto rename = [&](Symbol symbol) -> Affine {
      if (symbol.kind == Symbol::kStatic) {
        return Static(static_of_[symbol.number]);
      }
      const IteratorId loop = symbol.iterator();
      return extents[loop] == 1 ? Affine(0) : Iterator(iterators[loop]);
    };
    Indices to;
    to.reserve(indices.size());
    for (const Affine& index : indices) to.push_back(index.Substitute(rename));
    return to;
  }

  Expr Accumulated(Expr cell, Op accum, Expr term) {
    cell = Convert(cell, ComputeDType(cell.dtype()));
    const bool is_logic = accum == Op::kAnd || accum == Op::kOr;
    if (is_logic && cell.dtype() != DType::kBool) {
      const Expr a = NotEqual(cell, 0);
      const Expr b = Convert(term, DType::kBool);
      return Convert(accum == Op::kAnd ? a & b : a | b, cell.dtype());
    }
    term = Convert(term, cell.dtype());
    const Apply* apply = std::get_if<Apply>(&program_.exprs[term.id()]);
    bool product =
        apply != nullptr && apply->op == Op::kMul && IsFloat(apply->dtype);
    if (!product || (accum != Op::kAdd && accum != Op::kSub)) {
      return ApplyOp(AccumulationOf(accum, cell.dtype()), {cell, term},
                     cell.dtype());
    }
    Expr a(&program_.exprs, apply->args[0]);
    Expr b(&program_.exprs, apply->args[1]);
    return Fma(accum == Op::kSub ? -a : a, b, cell);
  }

  void EmitNest(const std::vector<IteratorId>& iterators,
                absl::Span<const int64_t> extents, Stmt stmt) {
    for (size_t k = iterators.size(); k-- > 0;) {
      if (extents[k] == 1) continue;
      For loop{LoopKind::kFor, iterators[k], extents[k], {}};
      loop.body.stmts.push_back(std::move(stmt));
      stmt = std::move(loop);
    }
    Emit(std::move(stmt));
  }

  const Assignments& code_;
  Assignments* const owned_;
  StepPlan plan_;                       // of what is not lowered yet
  std::vector<int32_t> static_of_;      // in program_, -1: unused
  std::vector<bool> readers_add_zero_;  // of each array
  std::vector<BufferId> buffer_of_;     // of each array in use
  std::vector<BufferId> parts_;         // that may be written in part only
  LoopProgram program_;
  size_t first_source_ = 0;  // of the step, in plan_.shows_signs
  IteratorId next_iterator_ = {0};
};

}  // namespace

static absl::StatusOr<LoopProgram> Lower(const Assignments& assignments,
                                         Assignments* owned) {
  std::optional<Assignments> rewritten;
  for (auto* rewrite : {WidenSums, Pad}) {
    std::optional<Assignments> next =
        rewrite(rewritten ? *rewritten : assignments);
    if (next) rewritten = std::move(next);
  }
  PartialSums sums;
  if (auto cascade = CascadeSums(rewritten ? *rewritten : assignments)) {
    rewritten = std::move(cascade->code);
    sums = std::move(cascade->sums);
  }
  if (rewritten) owned = &*rewritten;
  const Assignments& code = rewritten ? *rewritten : assignments;
  for (const Array& array : code.arrays) {
    absl::StatusOr<int64_t> bytes = ByteSize(array.dtype, array.dims);
    if (bytes.ok()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("`", array.name, "`: ", bytes.status().message()));
  }
  for (const Assignment& assignment : code.list) {
    const Assign* assign = std::get_if<Assign>(&assignment);
    if (assign == nullptr || assign->extents.size() <= kMaxLoopDepth) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("`", code.arrays[assign->lhs].name, "` takes ",
                     assign->extents.size(), " loops inside of one another, ",
                     "but ", kMaxLoopDepth, " is the most; merge axes"));
  }
  return Lowering(code, owned, sums).Run();
}

absl::StatusOr<LoopProgram> Lower(const Assignments& assignments) {
  return Lower(assignments, nullptr);
}

absl::StatusOr<LoopProgram> Lower(Assignments&& assignments) {
  Assignments owned = std::move(assignments);
  return Lower(owned, &owned);
}

}  // namespace ocannl
