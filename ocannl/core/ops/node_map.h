// SPDX-License-Identifier: Apache-2.0
//
// NodeMap: a map from the nodes of expressions.
//
//   NodeMap<int> uses;  // ++uses[id] counts one of the node `id`
#ifndef OCANNL_CORE_OPS_NODE_MAP_H_
#define OCANNL_CORE_OPS_NODE_MAP_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "ocannl/core/base/containers/id.h"

namespace ocannl {

struct ExprTag;
using ExprId = Id<ExprTag>;

// Few nodes, as of most expressions, are a list, of which 64 bits tell what it
// cannot have (Bloom, 1970, with one hash function). More are a hash table with
// linear probing (Knuth, volume 3, 6.4).
template <class Value>
class NodeMap {
 public:
  bool contains(ExprId id) const { return Has(PlaceOf(id), id); }
  // A node that it does not have ends the process.
  const Value& at(ExprId id) const noexcept {
    const size_t place = PlaceOf(id);
    return slots_.at(Has(place, id) ? place : slots_.size()).second;
  }

  // Whether it did not have `id`.
  bool emplace(ExprId id, Value value) {
    const size_t place = PlaceOf(id);
    if (Has(place, id)) return false;
    Put(place, id) = std::move(value);
    return true;
  }

  // Value() of a node that it did not have.
  Value& operator[](ExprId id) {
    const size_t place = PlaceOf(id);
    return Has(place, id) ? slots_[place].second : Put(place, id);
  }

 private:
  using Slot = std::pair<ExprId, Value>;
  static constexpr size_t kFew = 64;  // slots of a list, as many as bits

  static uint64_t BitOf(ExprId id) { return uint64_t{1} << (id.index & 63); }
  bool Has(size_t place, ExprId id) const {
    return place < slots_.size() && slots_.data()[place].first == id;
  }

  // The slot that has `id`, or the empty one that it gets, behind a list.
  size_t PlaceOf(ExprId id) const {
    const size_t size = slots_.size();
    const Slot* const slots = slots_.data();
    size_t k = 0;
    if (size <= kFew) {
      if ((bits_ & BitOf(id)) == 0) return size;
      while (k < size && slots[k].first != id) ++k;
      return k;
    }
    k = (static_cast<uint32_t>(id.index) * 0x9E3779B1u) >> shift_;
    while (slots[k].first.valid() && slots[k].first != id) {
      k = (k + 1) & (size - 1);
    }
    return k;
  }

  Value& Put(size_t place, ExprId id) {
    bits_ |= BitOf(id);
    ++size_;
    if (size_ <= kFew) return slots_.emplace_back(id, Value()).second;
    if (slots_.size() == kFew || 2 * size_ > slots_.size()) {
      Grow();
      place = PlaceOf(id);
    }
    slots_[place].first = id;
    return slots_[place].second;
  }

  void Grow() {
    auto before = std::exchange(slots_, {});
    slots_.resize(before.size() == kFew ? 4 * kFew : 2 * before.size());
    --shift_;
    for (Slot& slot : before) {
      if (slot.first.valid()) slots_[PlaceOf(slot.first)] = std::move(slot);
    }
  }

  absl::InlinedVector<Slot, kFew> slots_;
  size_t size_ = 0;
  uint64_t bits_ = 0;
  int shift_ = 25;  // of a table: 32 less the binary logarithm of its slots
};

}  // namespace ocannl

#endif  // OCANNL_CORE_OPS_NODE_MAP_H_
