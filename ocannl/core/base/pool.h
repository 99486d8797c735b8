// SPDX-License-Identifier: Apache-2.0
//
// InternPool: an append-only arena that interns values (hash-consing): equal
// values have equal ids.
//
//   InternPool<ExprId, Expr> pool;
//   pool.Add(a) == pool.Add(b)   if and only if   a == b
//
// References stay valid while values are added. Values need operator== and
// AbslHashValue. Not thread-safe. Who names a pool's type declares it `extern
// template` and instantiates it in one source, so that no other compiles it.
#ifndef OCANNL_CORE_BASE_POOL_H_
#define OCANNL_CORE_BASE_POOL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_set.h"
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
  InternPool();
  InternPool(const InternPool&);
  InternPool(InternPool&&);
  InternPool& operator=(const InternPool&);
  InternPool& operator=(InternPool&&);
  ~InternPool();

  // The id of `value`, which is stored unless an equal one already is.
  IdType Add(T value);

  // An id of no value ends the process: noexcept meets the exception of at().
  const T& operator[](IdType id) const noexcept {
    return values_.at(static_cast<uint32_t>(id.index));
  }

  int32_t size() const { return static_cast<int32_t>(values_.size()); }

 private:
  // The set holds ids rather than values, which would be there twice; a Key
  // finds the id of a value. Both know the hash: growing reads no value.
  struct Slot {
    uint32_t hash;
    IdType id;
  };
  struct Key {
    uint32_t hash;
    const T& value;
    const InternPool& pool;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Slot& slot) const { return slot.hash; }
    size_t operator()(const Key& key) const { return key.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Slot& a, const Slot& b) const { return a.id == b.id; }
    bool operator()(const Slot& slot, const Key& key) const {
      return slot.hash == key.hash && key.pool[slot.id] == key.value;
    }
  };

  std::deque<T> values_;
  absl::flat_hash_set<Slot, Hash, Equal> ids_;
};

template <class IdType, class T>
InternPool<IdType, T>::InternPool() = default;
template <class IdType, class T>
InternPool<IdType, T>::InternPool(const InternPool&) = default;
template <class IdType, class T>
InternPool<IdType, T>::InternPool(InternPool&&) = default;
template <class IdType, class T>
InternPool<IdType, T>& InternPool<IdType, T>::operator=(const InternPool&) =
    default;
template <class IdType, class T>
InternPool<IdType, T>& InternPool<IdType, T>::operator=(InternPool&&) = default;
template <class IdType, class T>
InternPool<IdType, T>::~InternPool() = default;

template <class IdType, class T>
IdType InternPool<IdType, T>::Add(T value) {
  const auto hash = static_cast<uint32_t>(PoolHash<T>()(value));
  const auto known = ids_.find(Key{hash, value, *this});
  if (known != ids_.end()) return known->id;
  const IdType id = {size()};
  ids_.insert({hash, id});
  values_.push_back(std::move(value));
  return id;
}

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_POOL_H_
