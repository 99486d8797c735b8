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

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
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
    auto [it, inserted] = ids_.try_emplace(
        std::move(value), IdType{static_cast<int32_t>(values_.size())});
    if (inserted) values_.push_back(it->first);
    return it->second;
  }

  // An id of no value ends the process: noexcept meets the exception of at().
  const T& operator[](IdType id) const noexcept {
    return values_.at(static_cast<uint32_t>(id.index));
  }

  int32_t size() const { return static_cast<int32_t>(values_.size()); }

 private:
  std::deque<T> values_;
  absl::flat_hash_map<T, IdType, PoolHash<T>> ids_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_POOL_H_
