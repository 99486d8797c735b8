// SPDX-License-Identifier: Apache-2.0
//
// IdMap: values by id, for a few of the ids of a pool. No allocation while
// there are no more than 16 of them.
//
//   IdMap<ExprId, int> uses;
//   if (uses.Insert(id, 1)) ...      // it is the first
//   ++*uses.Find(id);
#ifndef OCANNL_CORE_BASE_ID_MAP_H_
#define OCANNL_CORE_BASE_ID_MAP_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "ocannl/core/base/check.h"

namespace ocannl {

template <class IdType, class Value>
class IdMap {
 public:
  // Gives `id` the value unless it has one; returns whether it had none.
  bool Insert(IdType id, Value value) {
    if (2 * size_ >= slots_.size()) Grow();
    Slot& slot = slots_[PlaceOf(id)];
    if (slot.id.valid()) return false;
    slot = {id, std::move(value)};
    ++size_;
    return true;
  }

  // The value of `id`, to be used before the next Insert; null: none.
  Value* Find(IdType id) {
    Slot& slot = slots_[PlaceOf(id)];
    return slot.id.valid() ? &slot.value : nullptr;
  }
  const Value* Find(IdType id) const {
    return const_cast<IdMap*>(this)->Find(id);
  }
  bool Contains(IdType id) const { return Find(id) != nullptr; }

  // The value of `id`, which must have one.
  const Value& At(IdType id) const {
    const Value* value = Find(id);
    CHECK(value != nullptr);
    return *value;
  }

 private:
  struct Slot {
    IdType id;
    Value value = {};
  };

  // Where `id` is, or where it would be.
  size_t PlaceOf(IdType id) const {
    // Ids are small and come in runs: this spreads them.
    uint64_t hash = static_cast<uint32_t>(id.index) * 0x9e3779b97f4a7c15;
    size_t place = hash >> shift_;
    while (slots_[place].id.valid() && slots_[place].id != id) {
      place = (place + 1) & (slots_.size() - 1);
    }
    return place;
  }

  void Grow() {
    absl::InlinedVector<Slot, kInlined> old(2 * slots_.size());
    old.swap(slots_);
    --shift_;
    for (Slot& slot : old) {
      if (slot.id.valid()) slots_[PlaceOf(slot.id)] = std::move(slot);
    }
  }

  static constexpr size_t kInlined = 32;

  absl::InlinedVector<Slot, kInlined> slots_ =
      absl::InlinedVector<Slot, kInlined>(kInlined);  // at most half full
  int shift_ = 64 - 5;  // leaves as many bits as number the slots
  size_t size_ = 0;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_ID_MAP_H_
