// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/lmad.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/index/division.h"

namespace ocannl {
namespace {

// The values of a sum of products factor * x with 0 <= x < extent.
struct Sum {
  int64_t least = 0;
  int64_t greatest = 0;

  void Add(int64_t factor, int64_t extent) {
    const int64_t reach = factor * (extent - 1);
    (reach < 0 ? least : greatest) += reach;
  }
};

}  // namespace

Lmad::Lmad(const Affine& first, int64_t length)
    : first_(first), dims_({{.stride = 1, .extent = length}}) {}

int64_t Lmad::reach() const {
  int64_t reach = 1;
  for (const auto& [stride, extent] : dims_) reach += stride * (extent - 1);
  return reach;
}

int64_t Lmad::ExtentOf(int64_t stride) const {
  for (const Dim& dim : dims_) {
    if (dim.stride == stride) return dim.extent;
  }
  return 1;
}

void Lmad::SetExtent(int64_t stride, int64_t extent) {
  auto at = absl::c_find_if(
      dims_, [&](const Dim& dim) { return dim.stride >= stride; });
  if (at == dims_.end() || at->stride != stride) {
    at = dims_.insert(at, {.stride = stride, .extent = 1});
  }
  at->extent = extent;
}

// Makes two strides one where the greater is a multiple of the other and goes
// on, at the latest, where the other ends.
void Lmad::Coalesce() {
  for (size_t k = 0; k < dims_.size();) {
    Dim& fine = dims_[k++];
    for (size_t j = k; j < dims_.size(); ++j) {
      const Dim coarse = dims_[j];
      if (coarse.stride % fine.stride != 0) continue;
      const int64_t step = coarse.stride / fine.stride;
      if (step > fine.extent) continue;
      fine.extent += step * (coarse.extent - 1);
      dims_.erase(dims_.begin() + static_cast<int64_t>(j));
      k = 0;  // the greater extent may now reach one that was passed
      break;
    }
  }
}

void Lmad::Project(Symbol symbol, int64_t extent) {
  const int64_t factor = first_.FactorOf(symbol);
  if (factor == 0) return;
  first_.AddScaled(-factor, symbol);
  if (extent == 1) return;
  first_.AddOffset(std::min<int64_t>(0, factor * (extent - 1)));
  const int64_t stride = std::abs(factor);
  // Two symbols of one stride count on.
  SetExtent(stride, ExtentOf(stride) + extent - 1);
  Coalesce();
}

bool Lmad::Contains(const Lmad& other, RangeOf range) const {
  Affine shift = other.first_;
  shift.AddScaled(-1, first_);
  if (dims_.size() == 1) {  // nearly always
    Sum sum;
    for (const auto& [symbol, factor] : shift.terms()) {
      sum.Add(factor, range(symbol));
    }
    for (const auto& [stride, extent] : other.dims_) sum.Add(stride, extent);
    return shift.offset() + sum.least >= 0 &&
           shift.offset() + sum.greatest < dims_[0].extent;
  }
  // What of `other`, counted from first_, the strides are to give.
  Dims left;
  for (const Affine::Term& term : shift.terms()) {
    left.push_back({term.factor, range(term.symbol)});
  }
  absl::c_copy(other.dims_, std::back_inserter(left));
  int64_t offset = shift.offset();
  // As digits of a mixed radix, from the greatest stride on.
  for (size_t k = dims_.size(); k-- > 0;) {
    const auto [stride, extent] = dims_[k];
    Sum rest;
    Sum digit;
    Dims finer;
    for (const Dim& term : left) {
      if (term.stride % stride == 0) {
        digit.Add(term.stride / stride, term.extent);
      } else {
        rest.Add(term.stride, term.extent);
        finer.push_back(term);
      }
    }
    left = std::move(finer);
    // What the stride does not reach may be in the reach of the finer ones.
    const int64_t first = std::min(FloorDiv(offset + rest.least, stride),
                                   extent - 1 - digit.greatest);
    if (first + digit.least < 0) return false;
    offset -= stride * first;
  }
  return offset == 0;
}

bool Lmad::Holds(const Lmad& other) const {
  // No symbol is left to ask for.
  return first_.terms() == other.first_.terms() &&
         Contains(other, [](Symbol) { return int64_t{1}; });
}

bool Lmad::Join(const Lmad& other) {
  if (first_.terms() != other.first_.terms()) return false;
  const int64_t shift = other.first_.offset() - first_.offset();
  std::optional<int64_t> along;  // the stride
  auto differs = [&](int64_t stride) {
    return ExtentOf(stride) != other.ExtentOf(stride);
  };
  for (const Dims* dims : {&std::as_const(dims_), &other.dims_}) {
    for (const Dim& dim : *dims) {
      if (!differs(dim.stride) || along == dim.stride) continue;
      if (along) return false;
      along = dim.stride;
    }
  }
  if (!along && shift == 0) return true;
  auto touch = [&](int64_t stride) {
    return shift % stride == 0 && shift / stride <= ExtentOf(stride) &&
           shift / stride + other.ExtentOf(stride) >= 0;
  };
  if (!along) {
    const auto dim =
        absl::c_find_if(dims_, [&](const Dim& d) { return touch(d.stride); });
    if (dim == dims_.end()) return false;
    along = dim->stride;
  } else if (!touch(*along)) {
    return false;
  }
  const int64_t start = std::min<int64_t>(0, shift / *along);
  const int64_t end =
      std::max(ExtentOf(*along), shift / *along + other.ExtentOf(*along));
  first_.AddOffset(start * *along);
  SetExtent(*along, end - start);
  Coalesce();
  return true;
}

}  // namespace ocannl
