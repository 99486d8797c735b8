// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/reshape.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"

namespace ocannl {
namespace {

// Takes loops from the axes of an array, the innermost first.
class Taker {
 public:
  explicit Taker(absl::Span<const int64_t> dims)
      : dims_(dims), indices_(dims.size(), Affine(0)), axis_(dims.size()) {
    Next();
  }

  // How much of the current axis no loop has; 1 at the end.
  int64_t rest() const { return rest_; }

  void Take(IteratorId loop, int64_t extent) {
    indices_[axis_] += taken_ * Affine(Iterator(loop));
    taken_ *= extent;
    rest_ /= extent;
    if (rest_ == 1) Next();
  }

  Indices indices() && { return std::move(indices_); }

 private:
  void Next() {
    rest_ = taken_ = 1;
    while (axis_ > 0 && rest_ == 1) rest_ = dims_[--axis_];
  }

  absl::Span<const int64_t> dims_;
  Indices indices_;
  size_t axis_;
  int64_t rest_, taken_;
};

std::optional<Projections> OneNest(absl::Span<const int64_t> from,
                                   absl::Span<const int64_t> to) {
  Taker source(from), target(to);
  Projections p;
  while (source.rest() > 1 || target.rest() > 1) {
    const int64_t extent = std::min(source.rest(), target.rest());
    if (source.rest() % extent != 0 || target.rest() % extent != 0) {
      return std::nullopt;
    }
    const IteratorId loop = p.extents.Add(extent);
    source.Take(loop, extent);
    target.Take(loop, extent);
  }
  // The loops came innermost first.
  const int32_t last = p.extents.next_id().index - 1;
  std::reverse(p.extents.begin(), p.extents.end());
  auto reversed = [&](Indices indices) {
    for (Affine& index : indices) {
      index = index.Substitute([&](Symbol symbol) {
        return Affine(Iterator({last - symbol.number}));
      });
    }
    return indices;
  };
  p.lhs = reversed(std::move(target).indices());
  p.operands = {reversed(std::move(source).indices())};
  return p;
}

}  // namespace

std::vector<Projections> Reshaping(absl::Span<const int64_t> from,
                                   absl::Span<const int64_t> to) {
  const int64_t cells = NumElements(from);
  CHECK_EQ(cells, NumElements(to));
  if (auto nest = OneNest(from, to)) return {*std::move(nest)};
  return {*OneNest(from, {cells}), *OneNest({cells}, to)};
}

}  // namespace ocannl
