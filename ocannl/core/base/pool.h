// SPDX-License-Identifier: Apache-2.0
//
// InternPool: an append-only store in which equal values have equal ids.
//
//   InternPool<ExprId, Expr> pool;
//   pool.Add(a) == pool.Add(b)   if and only if   a == b
//
// References stay valid while values are added. Values need operator== and
// AbslHashValue. Not thread-safe.
#ifndef OCANNL_CORE_BASE_POOL_H_
#define OCANNL_CORE_BASE_POOL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <variant>
#include <vector>

#include "absl/hash/hash.h"
#include "ocannl/core/base/check.h"

namespace ocannl {

// Abseil hashes absl::variant but not std::variant.
template <class T>
struct PoolHash : absl::Hash<T> {};

template <class... Ts>
struct PoolHash<std::variant<Ts...>> {
  size_t operator()(const std::variant<Ts...>& value) const {
    return std::visit(
        [&](const auto& v) { return absl::HashOf(value.index(), v); }, value);
  }
};

template <class IdType, class T>
class InternPool {
 public:
  // The id of `value`, which is stored unless an equal one already is.
  IdType Add(T value) {
    if (2 * values_.size() >= slots_.size()) Grow();
    const auto hash = static_cast<uint32_t>(PoolHash<T>()(value));
    size_t place = PlaceOf(hash);
    for (; slots_[place].id.valid(); place = Next(place)) {
      const Slot& slot = slots_[place];
      if (slot.hash == hash && values_[slot.id.index] == value) return slot.id;
    }
    IdType id{size()};
    values_.push_back(std::move(value));
    slots_[place] = {hash, id};
    return id;
  }

  const T& operator[](IdType id) const {
    CHECK(id.index >= 0 && static_cast<size_t>(id.index) < values_.size());
    return values_[id.index];
  }

  int32_t size() const { return static_cast<int32_t>(values_.size()); }

 private:
  struct Slot {
    uint32_t hash = 0;
    IdType id;
  };

  size_t PlaceOf(uint32_t hash) const { return hash & (slots_.size() - 1); }
  size_t Next(size_t place) const { return (place + 1) & (slots_.size() - 1); }

  void Grow() {
    std::vector<Slot> old(std::max<size_t>(64, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (!slot.id.valid()) continue;
      size_t place = PlaceOf(slot.hash);
      while (slots_[place].id.valid()) place = Next(place);
      slots_[place] = slot;
    }
  }

  std::deque<T> values_;
  std::vector<Slot> slots_;  // a power of 2 of them, at most half full
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_POOL_H_
