// SPDX-License-Identifier: Apache-2.0
//
// InternPool: an append-only arena that interns values (hash-consing): equal
// values have equal ids.
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
    if (slots_.size() <= 2 * values_.size()) Grow();
    const auto hash = static_cast<uint32_t>(PoolHash<T>()(value));
    Slot& slot =
        FindSlot(hash, [&](IdType id) { return (*this)[id] == value; });
    if (!slot.id.valid()) {
      slot = {.hash = hash, .id = {size()}};
      values_.push_back(std::move(value));
    }
    return slot.id;
  }

  // An id of no value ends the process: noexcept meets the exception of at().
  const T& operator[](IdType id) const noexcept {
    return values_.at(static_cast<uint32_t>(id.index));
  }

  int32_t size() const { return static_cast<int32_t>(values_.size()); }

 private:
  struct Slot {
    uint32_t hash = 0;
    IdType id;  // not valid: free
  };

  // The slot of the value of that hash that `is` the wanted one, or the free
  // slot where it belongs.
  template <class Is>
  Slot& FindSlot(uint32_t hash, Is is) {
    size_t at = hash;
    while (true) {
      Slot& slot = slots_[at++ & (slots_.size() - 1)];
      if (!slot.id.valid() || (slot.hash == hash && is(slot.id))) return slot;
    }
  }

  void Grow() {
    std::vector<Slot> old(std::max<size_t>(16, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (!slot.id.valid()) continue;
      FindSlot(slot.hash, [](IdType) { return false; }) = slot;
    }
  }

  std::deque<T> values_;
  // A hash table with a power of two of slots, at least half of them free. One
  // that is keyed by values would hold each of them once more.
  std::vector<Slot> slots_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_POOL_H_
