// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/programs/free_form.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/loop/must_write.h"
#include "ocannl/fuzz/programs/random_value.h"

namespace ocannl::fuzz {
namespace {

constexpr int64_t kMaxCells = 5000;       // of a buffer
constexpr int64_t kMaxIterations = 4000;  // of a statement
constexpr int64_t kMaxWork = 30'000;      // statements in all iterations
constexpr int kNoNest = -1;

// The loops around the statement in the making, whose symbols index cells.
class OpenLoops {
 public:
  // They enter and leave `boxes`.
  OpenLoops(Random& random, const Policies& policies, MustWriteRegions& boxes)
      : random_(random), policies_(policies), boxes_(boxes) {}

  int depth() const { return depth_; }
  int64_t iterations() const { return iterations_; }  // of all of them
  Symbol innermost() const { return symbols_.back().symbol; }

  // Makes one that has values below `extent` everywhere.
  void AddStatic(Symbol symbol, int64_t extent) {
    symbols_.push_back({symbol, extent});
  }

  // A loop of `extent` iterations around what `make` makes.
  template <class Make>
  Stmt Loop(int64_t extent, Make make) {
    const LoopKind kind = DrawKind(random_, policies_, extent, depth_ == 0);
    For loop{kind, next_iterator_++, extent, {}};
    boxes_.Enter(entered_.emplace_back(loop));
    symbols_.push_back({Iterator(loop.iterator), extent});
    ++depth_;
    iterations_ *= extent;
    loop.body = make();
    iterations_ /= extent;
    --depth_;
    symbols_.pop_back();
    boxes_.Leave();
    return loop;
  }

  // An index in bounds of an axis: mostly one symbol, with a step and an
  // offset; the innermost loop comes up most often.
  Affine Index(int64_t dim) {
    constexpr int64_t kFactors[] = {1, 1, 1, 1, -1, 2, -2, 3, 5, 16};
    for (int trial = 0; trial < 5; ++trial) {
      Affine index;
      int64_t least = 0;
      int64_t span = 0;
      for (int64_t terms = random_.OneIn(4) ? 2 : 1; terms > 0; --terms) {
        if (symbols_.empty()) break;
        const Range& range =
            random_.OneIn(3) ? symbols_.back() : random_.Pick(symbols_);
        int64_t factor = random_.Pick(kFactors);
        if (!policies_.Has(Policy::kBigStrides)) factor = factor < 0 ? -1 : 1;
        index += factor * Affine(range.symbol);
        span += std::abs(factor) * (range.extent - 1);
        least += std::min<int64_t>(factor, 0) * (range.extent - 1);
      }
      if (span >= dim) continue;
      int64_t slack = random_.OneIn(2) ? 0 : random_.Below(dim - span);
      return index + Affine(slack - least);
    }
    return random_.Below(dim);
  }

  // `base` plus a multiple of each symbol, in no bounds.
  Affine Unbounded(Affine base) {
    for (const Range& range : symbols_) {
      base += (random_.Below(5) - 2) * Affine(range.symbol);
    }
    return base;
  }

 private:
  struct Range {
    Symbol symbol;
    int64_t extent;
  };

  Random& random_;
  const Policies& policies_;
  MustWriteRegions& boxes_;
  std::vector<Range> symbols_;  // that an index may use here
  std::deque<For> entered_;     // every loop, without its body
  IteratorId next_iterator_ = {0};
  int depth_ = 0;
  int64_t iterations_ = 1;
};

Buffer DrawBuffer(Random& random, const Policies& policies,
                  RandomValues& values, size_t number) {
  constexpr int kRanks[] = {0, 1, 1, 2, 2, 2, 3, 4};
  constexpr Role kDrawn[] = {Role::kIn, Role::kIn, Role::kInOut, Role::kOut,
                             Role::kTemp};
  Dims dims;
  int64_t cells = 1;
  for (int64_t rank = random.Pick(kRanks); rank > 0; --rank) {
    int64_t dim = DrawExtent(random, policies);
    bool big = policies.Has(Policy::kBigStrides) && random.OneIn(3);
    if (big) dim += random.Below(1000);
    if (policies.Has(Policy::kLongReductions) && random.OneIn(3)) {
      dim += 100 + random.Below(200);
    }
    if (cells * dim > kMaxCells) dim = 1 + random.Below(3);
    cells *= dim;
    dims.push_back(dim);
  }
  Role role = random.Pick(kDrawn);
  const bool in_place =
      policies.Has(Policy::kInPlace) || policies.Has(Policy::kLookups);
  if (in_place && random.OneIn(2)) role = Role::kInOut;
  if (policies.Has(Policy::kPrivateBuffers) && random.OneIn(3)) {
    role = Role::kPrivate;
  }
  if (number == 0) role = Role::kInOut;  // Something must be written.
  return {absl::StrCat("b", number), values.PickDType(), role, std::move(dims)};
}

// A buffer of integers, which hold indices of short axes and others.
Buffer DrawIndices(Random& random, const Policies& policies) {
  constexpr DType kIntegers[] = {DType::kI32, DType::kI32, DType::kU8,
                                 DType::kU16, DType::kU32, DType::kI64,
                                 DType::kU64};
  const DType dtype = random.Pick(kIntegers);
  Dims dims = {DrawExtent(random, policies), 1 + random.Below(4)};
  const Role role = random.OneIn(3) ? Role::kInOut : Role::kIn;
  return {"ids", dtype, role, std::move(dims)};
}

class FreeFormGenerator {
 public:
  FreeFormGenerator(Random& random, const Policies& policies)
      : random_(random),
        policies_(policies),
        boxes_(program_),
        loops_(random, policies, boxes_),
        values_(&program_, &random, policies,
                [this](DType dtype) { return Readable(dtype); }) {}

  LoopProgram Program() {
    program_.name = "free_form";
    if (policies_.Has(Policy::kStaticIndices)) {
      program_.statics = {{"s0", 1 + random_.Below(4)}, {"s1", kUnranged}};
      loops_.AddStatic(Static(0), program_.statics[0].range);
    }
    for (int64_t left = 2 + random_.Below(5); left > 0; --left) {
      program_.buffers.push_back(
          DrawBuffer(random_, policies_, values_, program_.buffers.size()));
    }
    if (policies_.Has(Policy::kLookups)) {
      program_.buffers.push_back(DrawIndices(random_, policies_));
    }
    nest_of_.resize(program_.buffers.size(), kNoNest);
    for (int64_t left = 1 + random_.Below(5); left > 0; --left) {
      ++nest_;
      program_.body.stmts.push_back(MakeStmt());
    }
    for (BufferId k : program_.buffers.ids()) {
      Buffer& buffer = program_.buffers[k];
      if (buffer.role == Role::kOut && !boxes_.CoversAll(k)) {
        buffer.role = Role::kInOut;
      }
    }
    return std::move(program_);
  }

 private:
  Access Cell(BufferId buffer) {
    Access access{.buffer = buffer, .indices = {}};
    for (int64_t dim : program_.buffers[buffer].dims) {
      access.indices.push_back(loops_.Index(dim));
    }
    return access;
  }

  // The cell, at an index that the integers of another say.
  std::optional<Lookup> LookedUp(Access cell) {
    std::vector<Access> indices;
    for (BufferId k : program_.buffers.ids()) {
      if (!IsInteger(program_.buffers[k].dtype) || !IsOfThisNest(k)) continue;
      Access index = Cell(k);
      if (Reads(index)) indices.push_back(std::move(index));
    }
    Lookup lookup{.cell = std::move(cell), .axis = 0, .index = {}};
    if (indices.empty() || lookup.cell.indices.empty()) return std::nullopt;
    // Rows of a table more than others.
    const auto rank = static_cast<int64_t>(lookup.cell.indices.size());
    lookup.axis =
        static_cast<int32_t>(random_.Below(random_.OneIn(3) ? rank : 1));
    lookup.cell.indices[lookup.axis] = 0;
    lookup.index = random_.Pick(indices);
    return lookup;
  }

  bool IsOfThisNest(BufferId buffer) const {
    return program_.buffers[buffer].role != Role::kPrivate ||
           nest_of_[buffer] == kNoNest || nest_of_[buffer] == nest_;
  }

  std::optional<LeafValue> Readable(DType dtype) {
    std::vector<LeafValue> fitting;
    for (BufferId k : program_.buffers.ids()) {
      const Buffer& buffer = program_.buffers[k];
      if (buffer.dtype != dtype || !IsOfThisNest(k)) continue;
      if (policies_.Has(Policy::kLookups)) {
        std::optional<Lookup> lookup = LookedUp(Cell(k));
        if (lookup && Reads(*lookup)) fitting.push_back(*std::move(lookup));
      }
      Access cell = Cell(k);
      if (Reads(cell)) fitting.push_back(std::move(cell));
    }
    for (LocalId local : scope_) {
      if (program_.locals[local].dtype == dtype) {
        fitting.push_back(GetLocal{local});
      }
    }
    if (dtype == DType::kI64 && random_.OneIn(2)) {
      fitting.push_back(loops_.Unbounded(
          program_.statics.empty() ? Affine(1) : Affine(Static(1))));
    }
    if (fitting.empty()) return std::nullopt;
    return random_.Pick(fitting);
  }

  ExprId Value(DType dtype) {
    Expr value = values_.Value(dtype, 1 + random_.Below(4));
    bool clamp = IsFloat(dtype) && !policies_.Has(Policy::kWildValues) &&
                 random_.OneIn(3);
    return clamp ? Max(Min(value, 1000), -1000).id() : value.id();
  }

  // A buffer that may be written here.
  BufferId PickTarget() {
    std::vector<BufferId> targets;
    for (BufferId k : program_.buffers.ids()) {
      if (!IsReadOnly(program_.buffers[k].role) && IsOfThisNest(k)) {
        targets.push_back(k);
      }
    }
    const BufferId target = random_.Pick(targets);
    nest_of_[target] = nest_;
    return target;
  }

  // A value for the target; often one that is added to it.
  template <class Target>
  ExprId ValueFor(const Target& target, DType dtype) {
    ExprId value = Value(dtype);
    if (dtype != DType::kBool && Reads(target) && random_.OneIn(2)) {
      Expr old = Convert(program_.Read(target), ComputeDType(dtype));
      Expr more = Convert(Expr(&program_.exprs, value), old.dtype());
      Expr sum = random_.OneIn(3) ? Max(old, more) : old + more;
      value = Convert(sum, dtype).id();
    }
    return value;
  }

  Stmt SetCell(Access target) {
    const DType dtype = program_.buffers[target.buffer].dtype;
    if (policies_.Has(Policy::kLookups) && !random_.OneIn(8)) {
      std::optional<Lookup> cell = LookedUp(target);
      if (cell && Reads(*cell)) {
        const LeafId leaf = program_.leaves.Add(*cell);
        return Scatter{leaf, ValueFor(*cell, dtype)};
      }
    }
    const ExprId value = ValueFor(target, dtype);
    boxes_.Write(target);
    return Set{std::move(target), value};
  }

  bool Reads(const Access& cell) const {
    return IsInput(program_.buffers[cell.buffer].role) || boxes_.Covers(cell);
  }

  bool Reads(const Lookup& lookup) const {
    return IsInput(program_.buffers[lookup.cell.buffer].role) ||
           boxes_.Covers(lookup);
  }

  Stmt Declare() {
    DType dtype = values_.PickDType();
    ExprId value = Value(dtype);
    const LocalId local =
        program_.locals.Add({absl::StrCat("v", program_.locals.size()), dtype});
    scope_.push_back(local);
    return DeclareLocal{local, value};
  }

  Stmt Simple() {
    int64_t kind = random_.Below(policies_.Has(Policy::kDeepNests) ? 8 : 12);
    if (kind <= 1) return Declare();
    if (kind <= 3 && !scope_.empty()) {
      const LocalId local = random_.Pick(scope_);
      return SetLocal{local, Value(program_.locals[local].dtype)};
    }
    const BufferId target = PickTarget();
    if (policies_.Has(Policy::kZeroOuts) && random_.OneIn(3)) {
      boxes_.WriteAll(target);
      work_ += loops_.iterations() * NumElements(program_.buffers[target].dims);
      return ZeroOut{target};
    }
    return SetCell(Cell(target));
  }

  // Loops that write every cell of a buffer, or as many by index.
  Stmt Fill(BufferId buffer) {
    const size_t rank = program_.buffers[buffer].dims.size();
    Access target{.buffer = buffer, .indices = Indices(rank)};
    std::vector<int> axes(rank);
    absl::c_iota(axes, 0);
    if (policies_.Has(Policy::kPermuted)) random_.Shuffle(axes);
    return FillAxes(target, axes);
  }

  Stmt FillAxes(Access& target, absl::Span<const int> axes) {
    if (axes.empty()) return SetCell(target);
    int64_t dim = program_.buffers[target.buffer].dims[axes[0]];
    return loops_.Loop(dim, [&] {
      target.indices[axes[0]] = loops_.innermost();
      Block block;
      work_ += loops_.iterations();
      block.stmts.push_back(FillAxes(target, axes.subspan(1)));
      return block;
    });
  }

  Block MakeBlock() {
    Block block;
    size_t outer = scope_.size();
    int64_t most = policies_.Has(Policy::kDeepNests) ? 5 : 3;
    for (int64_t left = 1 + random_.Below(most); left > 0; --left) {
      work_ += loops_.iterations();
      block.stmts.push_back(MakeStmt());
    }
    scope_.resize(outer);
    return block;
  }

  Stmt MakeStmt() {
    int64_t most = policies_.Has(Policy::kDeepNests) ? 5 : 3;
    if (loops_.depth() >= most || work_ > kMaxWork) return Simple();
    if (random_.OneIn(policies_.Has(Policy::kLookups) ? 2 : 4)) {
      const BufferId target = PickTarget();
      int64_t cells = NumElements(program_.buffers[target].dims);
      if (cells * loops_.iterations() <= kMaxIterations) return Fill(target);
    }
    // Outside of loops a statement runs once: mostly a waste.
    if (!random_.OneIn(loops_.depth() == 0 ? 8 : 2)) {
      int64_t extent = PickExtent();
      if (loops_.iterations() * extent <= kMaxIterations) {
        return loops_.Loop(extent, [&] { return MakeBlock(); });
      }
    }
    return Simple();
  }

  // Often the size of an axis, which the loop can then index.
  int64_t PickExtent() {
    const Dims& dims = random_.Pick(program_.buffers).dims;
    const bool any = dims.empty() || random_.OneIn(4);
    return any ? DrawExtent(random_, policies_) : random_.Pick(dims);
  }

  Random& random_;
  const Policies& policies_;
  LoopProgram program_;
  MustWriteRegions boxes_;
  OpenLoops loops_;
  RandomValues values_;
  std::vector<LocalId> scope_;
  IdVector<BufferId, int> nest_of_;  // that uses the buffer; kNoNest: none yet
  int nest_ = 0;
  int64_t work_ = 0;
};

}  // namespace

LoopProgram FreeForm(Random& random, const Policies& policies) {
  return FreeFormGenerator(random, policies).Program();
}

}  // namespace ocannl::fuzz
