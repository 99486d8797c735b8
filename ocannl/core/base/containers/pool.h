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

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "ocannl/core/base/containers/id.h"

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
    if (index >= static_cast<uint32_t>(size_)) std::terminate();
    return blocks_[index / kBlock][index % kBlock];
  }

  int32_t size() const { return size_; }

 private:
  // Values are in blocks, which stay where they are. A std::deque would be
  // that, too, but it allocates when it is empty and when it is moved. A block
  // fits where one of a std::deque of large values was, so that lowering uses
  // the memory of the code that it frees: 100 MB instead of 103 for a model of
  // 10,000 parameters (getrusage).
  static constexpr uint32_t kBlock = std::bit_floor(448 / sizeof(T));
  using Block = std::unique_ptr<T[]>;
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

  std::vector<Block> blocks_;
  int32_t size_ = 0;
  absl::flat_hash_set<Slot, typename Slot::Hash, typename Slot::Equal>
      ids_;  // empty: at most kFew values
};

template <class IdType, class T>
InternPool<IdType, T>::InternPool() = default;
template <class IdType, class T>
InternPool<IdType, T>::InternPool(const InternPool& other)
    : size_(other.size_), ids_(other.ids_) {
  blocks_.reserve(other.blocks_.size());
  for (const Block& block : other.blocks_) {
    blocks_.push_back(std::make_unique<T[]>(kBlock));
    std::copy_n(block.get(), kBlock, blocks_.back().get());
  }
}
template <class IdType, class T>
InternPool<IdType, T>::InternPool(InternPool&& other) noexcept
    : blocks_(std::exchange(other.blocks_, {})),
      size_(std::exchange(other.size_, 0)),
      ids_(std::exchange(other.ids_, {})) {}
template <class IdType, class T>
InternPool<IdType, T>& InternPool<IdType, T>::operator=(
    const InternPool& other) {
  return *this = InternPool(other);
}
template <class IdType, class T>
InternPool<IdType, T>& InternPool<IdType, T>::operator=(
    InternPool&& other) noexcept {
  blocks_ = std::exchange(other.blocks_, {});
  size_ = std::exchange(other.size_, 0);
  ids_ = std::exchange(other.ids_, {});
  return *this;
}
template <class IdType, class T>
InternPool<IdType, T>::~InternPool() = default;

template <class IdType, class T>
IdType InternPool<IdType, T>::Append(T value) {
  const uint32_t place = size_ % kBlock;
  if (place == 0) blocks_.push_back(std::make_unique<T[]>(kBlock));
  blocks_.back()[place] = std::move(value);
  return {size_++};
}

template <class IdType, class T>
IdType InternPool<IdType, T>::Add(T value) {
  if (size_ <= kFew) {
    for (IdType id : IdRange<IdType>{{size_}}) {
      if ((*this)[id] == value) return id;
    }
    if (size_ < kFew) return Append(std::move(value));
    for (IdType id : IdRange<IdType>{{size_}}) ids_.insert({HashOf(id), id});
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
