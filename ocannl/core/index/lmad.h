// SPDX-License-Identifier: Apache-2.0
//
// Lmad: a set of places on one axis, given by a first place and strides. It is
// a linear memory access descriptor (Paek, Hoeflinger and Padua, Simplification
// of array access patterns for compiler optimizations, 1998).
//
//   t[20*i2 + i3 + 5], i2 < 34, i3 < 16     5 + {0, 20, ..., 660} + [0, 16)
//
//   Lmad places(index);                     index = 20*i2 + i3 + 5
//   places.Project(Iterator(i3), 16);       20*i2 + 5 + [0, 16)
//   places.Project(Iterator(i2), 34);       the set above
//
// Strides that leave no gap are one (coalescing): with 20 values of i3 the set
// is [5, 685).
#ifndef OCANNL_CORE_INDEX_LMAD_H_
#define OCANNL_CORE_INDEX_LMAD_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "ocannl/core/index/affine.h"

namespace ocannl {

class Lmad {
 public:
  // `length` places from `first` on.
  explicit Lmad(const Affine& first, int64_t length = 1);

  // The least place, which may depend on symbols.
  const Affine& first() const { return first_; }
  // How far it reaches: from `first` to the greatest place, both counted.
  int64_t reach() const;
  // Whether it has all places in its reach.
  bool is_interval() const { return dims_.size() == 1; }

  // The union over all values from 0 to `extent` - 1 of the symbol.
  void Project(Symbol symbol, int64_t extent);

  // How many values, from 0 on, a symbol has.
  using RangeOf = absl::FunctionRef<int64_t(Symbol)>;

  // Whether `other` is a subset, for all values of the symbols. False may be a
  // false negative.
  bool Contains(const Lmad& other, RangeOf range) const;

  // The same, where `other` starts at one place in this set, whatever values
  // the symbols have.
  bool Holds(const Lmad& other) const;

  // Becomes the union of both and returns true, if that is such a set: if they
  // differ along one stride only, and touch there.
  bool Join(const Lmad& other);

  friend bool operator==(const Lmad&, const Lmad&) = default;

 private:
  // Places 0, stride, ..., stride * (extent - 1).
  struct Dim {
    int64_t stride;
    int64_t extent;
    friend bool operator==(const Dim&, const Dim&) = default;
  };
  // Most are one run of cells, with one extent at most.
  using Dims = absl::InlinedVector<Dim, 1>;

  int64_t ExtentOf(int64_t stride) const;
  void SetExtent(int64_t stride, int64_t extent);
  void Coalesce();

  Affine first_;
  // The set is the sum of first_ and one place of each. The strides ascend;
  // the first is 1, and the other extents are greater than 1.
  Dims dims_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_INDEX_LMAD_H_
