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
#ifndef OCANNL_CORE_BASE_CONTAINERS_POOL_H_
#define OCANNL_CORE_BASE_CONTAINERS_POOL_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "ocannl/core/base/containers/id.h"
#include "ocannl/core/base/containers/stable_vector.h"

namespace ocannl {

// A value on the heap, for a large member that few objects have. A copy copies
// the value; without one it takes a pointer and is T().
//
//   Boxed<ShapeSpec> spec;
//   spec.Mutable()[RowKind::kBatch] = Dims{4};
//   const Bases& bases = *spec->bases;
//   bool is_open = !spec[RowKind::kOutput].has_value();
template <class T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(T value)  // NOLINT
      : value_(std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& other)
      : value_(other.value_ == nullptr ? nullptr
                                       : std::make_unique<T>(*other.value_)) {}
  Boxed(Boxed&&) = default;
  Boxed& operator=(Boxed other) {
    value_ = std::move(other.value_);
    return *this;
  }

  const T& operator*() const {
    static const auto* none = new T();
    return value_ == nullptr ? *none : *value_;
  }
  const T* operator->() const { return &**this; }
  template <class Key>
  const auto& operator[](const Key& key) const {
    return (**this)[key];
  }

  T& Mutable() {
    if (value_ == nullptr) value_ = std::make_unique<T>();
    return *value_;
  }

  friend bool operator==(const Boxed& a, const Boxed& b) { return *a == *b; }
  template <class H>
  friend H AbslHashValue(H h, const Boxed& boxed) {
    return H::combine(std::move(h), *boxed);
  }

 private:
  std::unique_ptr<T> value_;
};

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
  InternPool(InternPool&&) noexcept;
  InternPool& operator=(const InternPool&);
  InternPool& operator=(InternPool&&) noexcept;
  ~InternPool();

  // The id of `value`, which is stored unless an equal one already is.
  IdType Add(T value);

  // An id of no value ends the process.
  const T& operator[](IdType id) const {
    const auto index = static_cast<uint32_t>(id.index);
    if (index >= values_.size()) std::terminate();
    return values_[index];
  }

  int32_t size() const { return static_cast<int32_t>(values_.size()); }

 private:
  // A pool of so few values is searched without a hash table.
  static constexpr int32_t kFew = 8;

  // The set holds ids rather than values, which would be there twice.
  using Slot = HashedId<IdType>;
  struct Key {
    uint32_t hash;
    const T& value;
    const InternPool& pool;

    bool IsOf(IdType id) const { return pool[id] == value; }
  };

  uint32_t HashOf(IdType id) const {
    return static_cast<uint32_t>(PoolHash<T>()((*this)[id]));
  }
  IdType Append(T value);

  StableVector<T> values_;
  absl::flat_hash_set<Slot, typename Slot::Hash, typename Slot::Equal>
      ids_;  // empty: at most kFew values
};

template <class IdType, class T>
InternPool<IdType, T>::InternPool() = default;
template <class IdType, class T>
InternPool<IdType, T>::InternPool(const InternPool&) = default;
template <class IdType, class T>
InternPool<IdType, T>::InternPool(InternPool&&) noexcept = default;
template <class IdType, class T>
InternPool<IdType, T>& InternPool<IdType, T>::operator=(const InternPool&) =
    default;
template <class IdType, class T>
InternPool<IdType, T>& InternPool<IdType, T>::operator=(InternPool&&) noexcept =
    default;
template <class IdType, class T>
InternPool<IdType, T>::~InternPool() = default;

template <class IdType, class T>
IdType InternPool<IdType, T>::Append(T value) {
  values_.push_back(std::move(value));
  return {size() - 1};
}

template <class IdType, class T>
IdType InternPool<IdType, T>::Add(T value) {
  if (size() <= kFew) {
    for (IdType id : IdRange<IdType>{{size()}}) {
      if ((*this)[id] == value) return id;
    }
    if (size() < kFew) return Append(std::move(value));
    for (IdType id : IdRange<IdType>{{size()}}) ids_.insert({HashOf(id), id});
  }
  const auto hash = static_cast<uint32_t>(PoolHash<T>()(value));
  return ids_
      .lazy_emplace(Key{hash, value, *this},
                    [&](const auto& emplace) {
                      emplace(Slot{hash, Append(std::move(value))});
                    })
      ->id;
}

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_CONTAINERS_POOL_H_
