// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/lower.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/cascade.h"
#include "ocannl/core/assign/pad.h"
#include "ocannl/core/assign/stored.h"
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

// Whether a run finds the values of the array, or leaves them.
bool IsStored(const Array& array) {
  return array.data != nullptr || IsKept(array.memory);
}

// Whether the values of the array differ from run to run, if code does not
// compute them. What a user may write is on_device, a literal is materialized.
bool MayChange(const Array& array) {
  const bool is_literal = array.data != nullptr && array.memory &&
                          array.memory->mode == MemoryMode::kMaterialized;
  return IsStored(array) && !is_literal;
}

// Calls `see_index` with each index of the assignment, and `see_array` with
// each array that it reads, before the indices of that.
void WalkIndices(const Assign& assign,
                 absl::FunctionRef<void(const Affine&)> see_index,
                 absl::FunctionRef<void(int32_t)> see_array) {
  absl::c_for_each(assign.lhs_indices, see_index);
  for (const Source& source : assign.sources) {
    WalkArrays(source, [&](const ReadArray& read) {
      see_array(read.array);
      absl::c_for_each(read.indices, see_index);
    });
    const ReadIndex* read = std::get_if<ReadIndex>(&source);
    if (read != nullptr) see_index(read->index);
  }
}

// Error: what is to be effectively constant is computed from what is not.
absl::Status CheckConstants(const Assignments& code) {
  // What of each array, if anything, makes its values differ from run to run.
  std::vector<std::optional<std::string>> causes;
  for (const Array& array : code.arrays) {
    causes.push_back(MayChange(array) ? std::optional(array.name)
                                      : std::nullopt);
  }
  for (const Assignment& assignment : code.list) {
    const Assign* assign = std::get_if<Assign>(&assignment);
    if (assign == nullptr) continue;
    std::optional<std::string> cause;  // the first one
    auto see_index = [&](const Affine& index) {
      for (const Affine::Term& term : index.terms()) {
        if (cause || term.symbol.kind != Symbol::kStatic) continue;
        cause = absl::StrCat("!@", code.statics[term.symbol.number].name);
      }
    };
    WalkIndices(*assign, see_index, [&](int32_t array) {
      if (!cause) cause = causes[array];
    });
    if (!cause) continue;
    const Array& lhs = code.arrays[assign->lhs];
    if (!causes[assign->lhs]) causes[assign->lhs] = cause;
    if (!lhs.memory || lhs.memory->mode != MemoryMode::kEffectivelyConstant) {
      continue;
    }
    return absl::FailedPreconditionError(
        absl::StrCat("`", lhs.name, "` is to be effectively_constant (",
                     lhs.memory->why, "), but it is computed from `", *cause,
                     "`, which may change; ask for virtual instead"));
  }
  return absl::OkStatus();
}

bool ReachesAll(const Assignments& code, const Assign& assign) {
  return !assign.lookup && IsSurjective(assign.extents, assign.lhs_indices,
                                        code.arrays[assign.lhs].dims);
}

bool ReachesOnce(const Assignments& code, const Assign& assign) {
  return !assign.lookup && IsBijective(assign.extents, assign.lhs_indices,
                                       code.arrays[assign.lhs].dims);
}

// How an assignment of the code is lowered.
struct Step {
  const Assign* assign;  // null: elided
  // That it starts the cells, so that nothing zeroes them before it: it sets
  // them, as it comes once a cell, or resets them itself.
  bool sets = false;
  bool resets = false;
  // That no cell is -0 before it, in the whole array.
  bool from_zero = false;

  std::optional<Op> accum() const {
    return sets ? std::nullopt : assign->accum;
  }
  bool reset() const { return (resets || assign->reset) && !sets; }
};

bool IsZero(const Assignments& code, const Step& step) {
  const auto* constant = std::get_if<Constant>(&code.exprs[step.assign->rhs]);
  return !step.accum() && constant != nullptr && constant->bits == 0 &&
         ReachesAll(code, *step.assign);
}

// Whether the assignment is a reduction that ends with `+ 0`.
bool EndsWithZero(const Assignments& code, const Assign& assign) {
  return assign.accum && !assign.lookup &&
         EndsWithZero(*assign.accum, code.arrays[assign.lhs].dtype) &&
         Reduces(assign.extents, assign.lhs_indices);
}

bool IsExtreme(const Assign& assign) {
  return assign.accum == Op::kMin || assign.accum == Op::kMax;
}

// The loops that reach the cells that `assign` sums into, and their indices.
Projections SumsOf(const Assign& assign) {
  std::vector<IteratorId> order;
  AddLoops(assign.lhs_indices, order);
  return Reordered({assign.extents, assign.lhs_indices, {}}, order);
}

// Elides an assignment that only zeroes what the next one to touch the array
// adds to, if the addition can start the cells itself: it comes once a cell,
// and becomes an assignment, or it ends a sum in lanes.
std::vector<Step> ElideZeroInit(const Assignments& code) {
  std::vector<Step> steps;
  steps.reserve(code.list.size());
  // What zeroes each array, if nothing has touched it since.
  std::vector<int32_t> zero_of(code.arrays.size(), -1);
  // Whether all that was written to each array since it was zeroed is sums that
  // end with `+ 0`.
  std::vector<bool> from_zero(code.arrays.size(), false);
  for (const Assignment& assignment : code.list) {
    const Assign* assign = std::get_if<Assign>(&assignment);
    if (assign == nullptr) continue;
    Step& step = steps.emplace_back(Step{assign});
    auto touch = [&](const ReadArray& read) { zero_of[read.array] = -1; };
    for (const Source& source : assign->sources) WalkArrays(source, touch);
    int32_t& zero = zero_of[assign->lhs];
    if (zero >= 0 && assign->accum == Op::kAdd && !assign->reset) {
      step.sets = ReachesOnce(code, *assign);
      step.resets = !step.sets && FindLanes(code, *assign);
      if (step.sets || step.resets) steps[zero].assign = nullptr;
    }
    step.sets |= assign->reset && EndsWithZero(code, *assign) &&
                 ReachesOnce(code, *assign);
    step.from_zero = assign->reset || from_zero[assign->lhs];
    from_zero[assign->lhs] =
        IsZero(code, step) || (step.from_zero && EndsWithZero(code, *assign));
    zero = IsZero(code, step) ? static_cast<int32_t>(steps.size()) - 1
                              : int32_t{-1};
  }
  return steps;
}

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
  // `owned`, if any, is `code`.
  Lowering(const Assignments& code, Assignments* owned)
      : code_(code), owned_(owned), steps_(ElideZeroInit(code)) {}

  absl::StatusOr<LoopProgram> Run() {
    program_.name = RoutineName(code_);
    OCANNL_RETURN_IF_ERROR(code_.contradiction);
    OCANNL_RETURN_IF_ERROR(CheckConstants(code_));
    if (owned_ != nullptr) owned_->number_of = {};
    DeclareStatics();
    FindUses();
    adds_zero_.resize(code_.arrays.size());
    buffer_of_.resize(code_.arrays.size());
    program_.buffers.reserve(code_.arrays.size());
    for (size_t k = 0; k < code_.arrays.size(); ++k) {
      OCANNL_RETURN_IF_ERROR(Declare(static_cast<int32_t>(k)));
    }
    program_.body.stmts.reserve(code_.list.size());
    size_t next = 0;
    for (size_t k = 0; k < code_.list.size(); ++k) {
      std::visit(
          Overload{
              [&](const BlockComment& comment) { Emit(Comment{comment.text}); },
              [&](const Assign&) { LowerStep(steps_[next++], k); },
          },
          code_.list[k]);
      if (owned_ != nullptr) owned_->list[k] = BlockComment{};
    }
    KeepUnwritten(parts_, program_);
    return std::move(program_);
  }

 private:
  // The iterator of each loop; a loop of one iteration has none.
  using Iterators = IdVector<IteratorId, IteratorId>;

  // What the code does with an array.
  struct Use {
    bool read_first = false;  // before it is written
    bool written = false;
    bool part_first = false;  // what writes it first need not reach all of it
  };

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
      if (assign != nullptr) WalkIndices(*assign, use, [](int32_t) {});
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

  void FindUses() {
    uses_.resize(code_.arrays.size());
    places_.resize(code_.arrays.size());
    for (size_t k = 0; k < code_.list.size(); ++k) {
      const Assign* assign = std::get_if<Assign>(&code_.list[k]);
      if (assign == nullptr) continue;
      auto add = [&](int32_t array) {
        std::vector<size_t>& places = places_[array];
        if (places.empty() || places.back() != k) places.push_back(k);
      };
      add(assign->lhs);
      for (const Source& source : assign->sources) {
        WalkArrays(source, [&](const ReadArray& read) { add(read.array); });
      }
    }
    for (const Step& step : steps_) {
      const Assign* assign = step.assign;
      if (assign == nullptr) continue;
      auto read = [&](int32_t array) {
        uses_[array].read_first |= !uses_[array].written;
      };
      if (step.accum() && !step.reset()) read(assign->lhs);
      for (const Source& source : assign->sources) {
        WalkArrays(source, [&](const ReadArray& r) { read(r.array); });
      }
      Use& use = uses_[assign->lhs];
      if (std::exchange(use.written, true)) continue;
      use.part_first = !step.reset() && !ReachesAll(code_, *assign);
    }
  }

  absl::Status Declare(int32_t array) {
    const Array& a = code_.arrays[array];
    const auto [read_first, written, part_first] = uses_[array];
    CHECK((a.data == nullptr && !a.is_merge) || !written) << a.name;
    if (!read_first && !written) return absl::OkStatus();
    const bool is_stored = IsStored(a) || (read_first && IsOpenGradient(a));
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
    buffer_of_[array] = program_.buffers.Add(
        {.name = a.name, .dtype = a.dtype, .dims = a.dims, .role = role});
    if (part_first) parts_.push_back(buffer_of_[array]);
    return absl::OkStatus();
  }

  // That of the assignment `number` of the code.
  void LowerStep(const Step& step, size_t number) {
    if (step.assign == nullptr) return;
    const bool ends_with_zero = EndsWithZero(code_, *step.assign);
    adds_zero_[step.assign->lhs] = false;
    if (!step.sets && !step.resets) {
      LowerAssign(*step.assign);
      if (ends_with_zero) EndWithZero(step, number);
      return;
    }
    Assign starts = owned_ != nullptr
                        ? std::move(std::get<Assign>(owned_->list[number]))
                        : *step.assign;
    if (step.sets) starts.accum.reset();
    starts.reset = step.resets;
    LowerAssign(starts, step.sets && ends_with_zero);
  }

  // After a sum in order of which a cell may be -0, as it was before, or a
  // product underflows: y := y + 0, or the maps that read y do so.
  void EndWithZero(const Step& step, size_t number) {
    const Assign& assign = *step.assign;
    if (ReachesOnce(code_, assign) || FindLanes(code_, assign)) return;
    if (!step.from_zero) {
      const Projections cells = SumsOf(assign);
      return SetCells(assign.lhs, cells.extents, cells.lhs, AddZero);
    }
    if (IsExtreme(assign) || !IsProduct(assign) ||
        IsContinued(assign.lhs, number))
      return;
    if (OnlyMapsRead(assign.lhs, number)) {
      adds_zero_[assign.lhs] = true;
      return;
    }
    const CellLoops cells(code_.arrays[assign.lhs].dims);
    SetCells(assign.lhs, cells.extents, cells.indices, AddZero);
  }

  static Expr AddZero(Expr cell) { return cell + 0; }

  bool IsProduct(const Assign& assign) const {
    const auto* apply = std::get_if<Apply>(&code_.exprs[assign.rhs]);
    return apply != nullptr && apply->op == Op::kMul;
  }

  // The assignments after `number` that read or write the array.
  absl::Span<const size_t> UsesAfter(int32_t array, size_t number) const {
    const std::vector<size_t>& all = places_[array];
    const auto next = absl::c_upper_bound(all, number);
    return absl::MakeSpan(all).subspan(next - all.begin());
  }

  // Whether what uses the array next sums into it, too, and ends with `+ 0` for
  // all of it.
  bool IsContinued(int32_t array, size_t number) const {
    const auto uses = UsesAfter(array, number);
    if (uses.empty()) return false;
    const Assign& next = std::get<Assign>(code_.list[uses[0]]);
    return next.lhs == array && !next.reset && EndsWithZero(code_, next) &&
           !IsExtreme(next) && IsProduct(next) && !ReachesOnce(code_, next) &&
           !ReadsSource(next, array) && !FindLanes(code_, next);
  }

  // Whether maps alone read the array until it is written anew or lost.
  bool OnlyMapsRead(int32_t array, size_t number) const {
    const Role role = program_.buffers[buffer_of_[array]].role;
    if (role == Role::kOut || role == Role::kInOut) return false;
    for (const size_t place : UsesAfter(array, number)) {
      const Assign& use = std::get<Assign>(code_.list[place]);
      if (use.lhs == array) {
        return !ReadsSource(use, array) && (!use.accum || use.reset) &&
               ReachesAll(code_, use);
      }
      if (use.lookup || Reduces(use.extents, use.lhs_indices) ||
          absl::c_any_of(use.sources, [](const Source& source) {
            return std::holds_alternative<ReadLookup>(source);
          })) {
        return false;
      }
    }
    return true;
  }

  void Emit(Stmt stmt) { program_.body.stmts.push_back(std::move(stmt)); }

  // If it `adds_zero`, so does each term of an extreme, or what has one term.
  void LowerAssign(const Assign& assign, bool adds_zero = false) {
    if (IsZero(code_, {&assign}) && !assign.extents.empty()) {
      return Emit(ZeroOut{buffer_of_[assign.lhs]});
    }
    const std::optional<LaneSplit> lanes = FindLanes(code_, assign);
    // An extreme in order has no term of -0; sums end after all terms.
    adds_zero |= !lanes && EndsWithZero(code_, assign) &&
                 (IsExtreme(assign) || ReachesOnce(code_, assign));
    const bool first = lanes && assign.reset && ReachesAll(code_, assign);
    if (assign.reset && !first) Reset(assign);
    Iterators iterators = NewIterators(assign.extents);
    Stmt stmt = AssignAt(assign, iterators, adds_zero);
    if (!lanes) return EmitNest(iterators, assign.extents, std::move(stmt));
    const DType dtype = code_.arrays[assign.lhs].dtype;
    Reduction reduction{.iterators = std::move(iterators),
                        .extents = assign.extents,
                        .set = std::get<Set>(std::move(stmt)),
                        .accum = AccumulationOf(*assign.accum, dtype),
                        .first = first};
    Emit(SplitReduce(program_, reduction, *lanes, next_iterator_));
  }

  // The assignment at one point of its loops.
  Stmt AssignAt(const Assign& assign, const Iterators& iterators,
                bool adds_zero) {
    auto cell = [&](const ReadArray& read) {
      return Access{buffer_of_[read.array],
                    InLoops(read.indices, assign.extents, iterators)};
    };
    const Overload value_of = {
        [&](const ReadArray& read) -> LeafValue { return cell(read); },
        [&](const ReadLookup& read) -> LeafValue {
          return Lookup{cell(read.table), read.axis, cell(read.ids)};
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
          if (read != nullptr && adds_zero_[read->array]) value = value + 0;
          return Convert(value, leaf.dtype).id();
        });
    Access target = cell({assign.lhs, assign.lhs_indices});
    std::optional<Lookup> row;
    if (assign.lookup) {
      const Source& ids = assign.sources[assign.lookup->ids];
      row = {target, assign.lookup->axis, cell(std::get<ReadArray>(ids))};
    }
    Expr value(&program_.exprs, rhs);
    const bool once = assign.accum && ReachesOnce(code_, assign);
    if (adds_zero && !once) value = value + 0;
    if (assign.accum) {
      const Expr old = row ? program_.Read(*row) : program_.Read(target);
      value = Accumulated(old, *assign.accum, value);
    }
    if (adds_zero && once) value = value + 0;
    const DType stored = program_.buffers[target.buffer].dtype;
    value = assign.accum ? Convert(value, stored) : StoredAs(value, stored);
    if (row) return Scatter{program_.leaves.Add(*row), value.id()};
    return Set{std::move(target), value.id()};
  }

  // Every cell becomes the neutral element, or 0.
  void Reset(const Assign& assign) {
    const Array& array = code_.arrays[assign.lhs];
    const BufferId buffer = buffer_of_[assign.lhs];
    double neutral = assign.accum ? NeutralElement(*assign.accum) : 0;
    if (neutral == 0) return Emit(ZeroOut{buffer});
    const CellLoops cells(array.dims);
    SetCells(assign.lhs, cells.extents, cells.indices,
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
                const std::vector<int64_t>& extents, Stmt stmt) {
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
  std::vector<Step> steps_;                  // of each Assign
  std::vector<int32_t> static_of_;           // in program_, -1: unused
  std::vector<Use> uses_;                    // of each array
  std::vector<std::vector<size_t>> places_;  // the same, in code_.list
  std::vector<bool> adds_zero_;              // who reads the array
  std::vector<BufferId> buffer_of_;          // of each array in use
  std::vector<BufferId> parts_;              // that may be written in part only
  LoopProgram program_;
  IteratorId next_iterator_ = {0};
};

// In how many lanes an accumulation is summed; 0: in order.
int64_t NumLanes(const Assignments& code, const Assign& assign) {
  const std::optional<LaneSplit> split = FindLanes(code, assign);
  if (!split) return 0;
  int64_t lanes = split->rows;
  for (size_t k : split->inner) {
    lanes *= assign.extents[IteratorId{static_cast<int32_t>(k)}];
  }
  return lanes;
}

}  // namespace

static absl::StatusOr<LoopProgram> Lower(const Assignments& assignments,
                                         Assignments* owned) {
  std::optional<Assignments> wide = WidenSums(assignments);
  if (wide) owned = &*wide;
  const Assignments& summed = wide ? *wide : assignments;
  std::optional<Assignments> padded = Pad(summed);
  if (padded) owned = &*padded;
  const Assignments& inside = padded ? *padded : summed;
  std::optional<Assignments> cascaded = CascadeSums(inside, NumLanes);
  if (cascaded) owned = &*cascaded;
  const Assignments& code = cascaded ? *cascaded : inside;
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
  return Lowering(code, owned).Run();
}

absl::StatusOr<LoopProgram> Lower(const Assignments& assignments) {
  return Lower(assignments, nullptr);
}

absl::StatusOr<LoopProgram> Lower(Assignments&& assignments) {
  Assignments owned = std::move(assignments);
  return Lower(owned, &owned);
}

}  // namespace ocannl
