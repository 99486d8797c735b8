// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/cost/nest_work.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/opt/cost.h"
#include "ocannl/core/tiering/cost/predict.h"

namespace ocannl {
namespace {

// Inclusive bounds of the indices on each axis.
using Box = std::vector<std::pair<int64_t, int64_t>>;

class Traffic {
 public:
  Traffic(const LoopProgram& program, const Block& nest) : program_(program) {
    WalkLoops(nest,
              [&](const For& loop) { extents_[loop.iterator] = loop.extent; });
    WalkStmts(nest, [&](const Stmt& stmt) { Add(stmt); });
  }

  double bytes_read() const { return BytesOf(reads_); }
  double bytes_written() const { return BytesOf(writes_); }

 private:
  using Boxes = std::map<BufferId, Box>;

  void Add(const Stmt& stmt) {
    if (const auto* zero = std::get_if<ZeroOut>(&stmt)) {
      Box whole;
      for (int64_t size : program_.buffers[zero->buffer].dims) {
        whole.emplace_back(0, size - 1);
      }
      return Extend(zero->buffer, whole, writes_);
    }
    if (const auto* set = std::get_if<Set>(&stmt)) {
      Extend(set->target.buffer, BoxOf(set->target), writes_);
    }
    if (const auto* scatter = std::get_if<Scatter>(&stmt)) {
      AddLookup(program_.TargetOf(*scatter), writes_);
    }
    const ExprId* value = ValueOf(stmt);
    if (value == nullptr) return;
    WalkLeaves(program_, *value, [&](const LeafValue& leaf) {
      if (const auto* access = std::get_if<Access>(&leaf)) {
        Extend(access->buffer, BoxOf(*access), reads_);
      } else if (const auto* lookup = std::get_if<Lookup>(&leaf)) {
        AddLookup(*lookup, reads_);
      }
    });
  }

  // At most as many indices of the axis as there are cells that hold them.
  void AddLookup(const Lookup& lookup, Boxes& boxes) {
    const Box indices = BoxOf(*lookup.index);
    Extend(lookup.index->buffer, indices, reads_);
    Box box = BoxOf(lookup.cell);
    const int64_t size = program_.buffers[lookup.cell.buffer].dims[lookup.axis];
    box[lookup.axis] = {
        0, std::min(size, static_cast<int64_t>(CellsOf(indices))) - 1};
    Extend(lookup.cell.buffer, box, boxes);
  }

  Box BoxOf(const Access& access) const {
    Box box;
    for (const Affine& index : access.indices) {
      int64_t low = index.offset();
      int64_t high = low;
      for (const Affine::Term& term : index.terms()) {
        if (term.symbol.kind == Symbol::kStatic) continue;
        const auto extent = extents_.find(term.symbol.iterator());
        if (extent == extents_.end()) continue;
        const int64_t last = term.factor * (extent->second - 1);
        (last < 0 ? low : high) += last;
      }
      box.emplace_back(low, high);
    }
    return box;
  }

  static void Extend(BufferId buffer, const Box& box, Boxes& boxes) {
    auto [old, is_new] = boxes.try_emplace(buffer, box);
    if (is_new) return;
    for (size_t k = 0; k < box.size(); ++k) {
      auto& [low, high] = old->second[k];
      low = std::min(low, box[k].first);
      high = std::max(high, box[k].second);
    }
  }

  static double CellsOf(const Box& box) {
    double cells = 1;
    for (auto [low, high] : box) {
      cells *= static_cast<double>(std::max<int64_t>(high - low + 1, 0));
    }
    return cells;
  }

  double BytesOf(const Boxes& boxes) const {
    double bytes = 0;
    for (const auto& [id, box] : boxes) {
      const Buffer& buffer = program_.buffers[id];
      if (IsOfNest(buffer.role)) continue;
      double cells = 1;
      for (int64_t size : buffer.dims) cells *= static_cast<double>(size);
      bytes += std::min(CellsOf(box), cells) *
               static_cast<double>(SizeOf(buffer.dtype));
    }
    return bytes;
  }

  const LoopProgram& program_;
  absl::flat_hash_map<IteratorId, int64_t> extents_;
  Boxes reads_, writes_;
};

class Classifier {
 public:
  explicit Classifier(const LoopProgram& program) : program_(program) {}

  NestKind KindOf(const Block& block) {
    NestKind kind = NestKind::kFill;
    for (const Stmt& stmt : block.stmts) {
      if (const auto* loop = std::get_if<For>(&stmt)) {
        if (loop->extent > 1) loops_.push_back(loop->iterator);
        kind = std::min(kind, KindOf(loop->body));
        if (loop->extent > 1) loops_.pop_back();
      } else {
        kind = std::min(kind, KindOf(stmt));
      }
    }
    return kind;
  }

 private:
  NestKind KindOf(const Stmt& stmt) const {
    if (std::holds_alternative<Scatter>(stmt)) return NestKind::kScatter;
    const ExprId* value = ValueOf(stmt);
    if (value == nullptr) return NestKind::kFill;
    const auto* set = std::get_if<Set>(&stmt);
    bool gathers = false;
    bool reads = false;
    bool accumulates = false;
    WalkLeaves(program_, *value, [&](const LeafValue& leaf) {
      reads = true;
      gathers |= std::holds_alternative<Lookup>(leaf);
      accumulates |= set != nullptr && IsTarget(*set, leaf);
    });
    if (accumulates && IsReduced(set->target)) {
      return AddsProduct(*set) ? NestKind::kContraction : NestKind::kReduction;
    }
    if (gathers) return NestKind::kGather;
    if (!reads) return NestKind::kFill;
    return ArithmeticOf(program_, *value).operations > 0 ? NestKind::kMap
                                                         : NestKind::kCopy;
  }

  static bool IsTarget(const Set& set, const LeafValue& leaf) {
    const auto* access = std::get_if<Access>(&leaf);
    return access != nullptr && *access == set.target;
  }

  // Whether iterations of a loop share the cell.
  bool IsReduced(const Access& target) const {
    return std::any_of(loops_.begin(), loops_.end(), [&](IteratorId loop) {
      return !MovesAlong(target, loop);
    });
  }

  // Whether the value is fma(a, b, target).
  bool AddsProduct(const Set& set) const {
    const auto* sum = std::get_if<Apply>(&program_.exprs[set.value]);
    if (sum == nullptr || sum->op != Op::kFma) return false;
    const auto* added = std::get_if<Leaf>(&program_.exprs[sum->args[2]]);
    return added != nullptr && IsTarget(set, program_.At(*added));
  }

  const LoopProgram& program_;
  std::vector<IteratorId> loops_;  // around a statement, with many iterations
};

}  // namespace

absl::string_view Name(NestKind kind) {
  switch (kind) {
    case NestKind::kContraction:
      return "contraction";
    case NestKind::kReduction:
      return "reduction";
    case NestKind::kScatter:
      return "scatter";
    case NestKind::kGather:
      return "gather";
    case NestKind::kMap:
      return "map";
    case NestKind::kCopy:
      return "copy";
    case NestKind::kFill:
      return "fill";
  }
  __builtin_unreachable();
}

NestWork NestWorkOf(const LoopProgram& program, const Block& nest) {
  NestWork work{.kind = Classifier(program).KindOf(nest)};
  const Traffic traffic(program, nest);
  const Prediction prediction = Predict(program, nest);
  work.arithmetic = prediction.arithmetic;
  work.flops = prediction.flops;
  work.bytes_read = traffic.bytes_read();
  work.bytes_written = traffic.bytes_written();
  return work;
}

}  // namespace ocannl
