// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/contraction_order.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// More points than any loops have; differences of such numbers are numbers.
constexpr double kMostPoints = 1e300;

LoopSet Union(LoopSet a, const LoopSet& b) {
  for (IteratorId k : a.ids()) a[k] = a[k] || b[k];
  return a;
}

LoopSet Intersection(LoopSet a, const LoopSet& b) {
  for (IteratorId k : a.ids()) a[k] = a[k] && b[k];
  return a;
}

// What is still to be multiplied: a factor, or what a step makes.
struct Item {
  int number;
  LoopSet loops;
};

class Orderer {
 public:
  Orderer(const LoopExtents& extents, absl::Span<const LoopSet> factors,
          const LoopSet& result)
      : extents_(extents), result_(result), has_one_size_(result) {
    for (const LoopSet& loops : factors) {
      items_.push_back({static_cast<int>(items_.size()), loops});
    }
    for (IteratorId k : extents.ids()) {
      const bool is_summed =
          !result[k] && LoopsBeside([](size_t) { return true; })[k];
      if (!is_summed) continue;
      has_one_size_[k] = true;  // the outermost one
      break;
    }
    next_ = static_cast<int>(items_.size());
  }

  std::vector<ContractionStep> Order() {
    SumAlone();
    if (items_.size() <= kMostOrderedFactors) {
      OrderBest();
    } else {
      while (items_.size() > 1) TakeBestPair();
    }
    return std::move(steps_);
  }

 private:
  double Points(const LoopSet& loops) const {
    double points = 1;
    for (IteratorId k : extents_.ids()) {
      if (!loops[k]) continue;
      const int64_t size = has_one_size_[k] ? kOneSize : extents_[k];
      points *= static_cast<double>(size);
    }
    return std::min(points, kMostPoints);
  }

  // The loops that the result has, or an item that `is_other`.
  template <class Predicate>
  LoopSet LoopsBeside(Predicate is_other) const {
    LoopSet loops = result_;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (is_other(i)) loops = Union(std::move(loops), items_[i].loops);
    }
    return loops;
  }

  Item Step(int left, int right, LoopSet kept) {
    steps_.push_back({.left = left, .right = right, .kept = kept});
    return {next_++, std::move(kept)};
  }

  void SumAlone() {
    for (size_t i = 0; i < items_.size(); ++i) {
      const LoopSet beside = LoopsBeside([i](size_t k) { return k != i; });
      LoopSet kept = Intersection(items_[i].loops, beside);
      if (kept == items_[i].loops) continue;
      items_[i] = Step(items_[i].number, -1, std::move(kept));
    }
  }

  // Of each set of items, a bit each, the loops of its product, what the steps
  // to it cost, and the part of it that is multiplied with the rest last.
  struct Subset {
    LoopSet loops;
    double cost = kInfinity;
    uint32_t part = 0;
  };

  void OrderBest() {
    const uint32_t all = (uint32_t{1} << items_.size()) - 1;
    std::vector<Subset> subsets(all + 1);
    for (uint32_t set = 1; set <= all; ++set) {
      Subset& subset = subsets[set];
      const uint32_t lowest = set & -set;
      if (set == lowest) {
        subset.loops = items_[NumberOf(set)].loops;
        subset.cost = 0;
        continue;
      }
      const uint32_t rest = set - lowest;
      subset.loops = Intersection(
          Union(subsets[lowest].loops, subsets[rest].loops),
          LoopsBeside([set](size_t k) { return (set >> k & 1) == 0; }));
      // Every split once: the part that has the lowest item.
      for (uint32_t more = (rest - 1) & rest;; more = (more - 1) & rest) {
        const Subset& part = subsets[lowest | more];
        const Subset& others = subsets[rest - more];
        const double cost =
            part.cost + others.cost + Points(Union(part.loops, others.loops));
        if (cost <= subset.cost) {
          subset.cost = cost;
          subset.part = lowest | more;
        }
        if (more == 0) break;
      }
    }
    Build(subsets, all);
  }

  static int NumberOf(uint32_t single) { return __builtin_ctz(single); }

  int Build(const std::vector<Subset>& subsets, uint32_t set) {
    const Subset& subset = subsets[set];
    if (subset.part == 0) return items_[NumberOf(set)].number;
    const int left = Build(subsets, subset.part);
    const int right = Build(subsets, set - subset.part);
    return Step(left, right, subset.loops).number;
  }

  void TakeBestPair() {
    IdVector<IteratorId, int> uses(extents_.size());
    auto count = [&](const LoopSet& loops) {
      for (IteratorId k : uses.ids()) uses[k] += loops[k];
    };
    count(result_);
    for (const Item& item : items_) count(item.loops);
    auto kept_of = [&](const LoopSet& a, const LoopSet& b) {
      LoopSet kept = Union(a, b);
      for (IteratorId k : uses.ids()) {
        kept[k] = kept[k] && uses[k] > a[k] + b[k];
      }
      return kept;
    };
    // How many cells more there are after the step, then what it costs.
    std::pair<double, double> best = {kInfinity, kInfinity};
    size_t left = 0, right = 1;
    for (size_t i = 0; i < items_.size(); ++i) {
      for (size_t j = i + 1; j < items_.size(); ++j) {
        const LoopSet &a = items_[i].loops, &b = items_[j].loops;
        const std::pair<double, double> step = {
            Points(kept_of(a, b)) - Points(a) - Points(b), Points(Union(a, b))};
        if (step >= best) continue;
        best = step;
        left = i;
        right = j;
      }
    }
    LoopSet kept = kept_of(items_[left].loops, items_[right].loops);
    items_[left] =
        Step(items_[left].number, items_[right].number, std::move(kept));
    items_.erase(items_.begin() + right);
  }

  const LoopExtents& extents_;
  const LoopSet& result_;
  LoopSet has_one_size_;  // whatever its extent
  std::vector<Item> items_;
  std::vector<ContractionStep> steps_;
  int next_;
};

}  // namespace

std::vector<ContractionStep> ContractionOrder(const LoopExtents& extents,
                                              absl::Span<const LoopSet> factors,
                                              const LoopSet& result) {
  CHECK(!factors.empty());
  return Orderer(extents, factors, result).Order();
}

}  // namespace ocannl
