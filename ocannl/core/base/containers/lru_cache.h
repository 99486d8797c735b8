// SPDX-License-Identifier: Apache-2.0
//
// LruCache: values by text, of which the least recently used one is evicted
// when there are too many. Whole keys are compared.
//
//   LruCache<int> cache(/*capacity=*/2);
//   cache.Insert("a", 1);
//   if (int* value = cache.Find("a")) ...
#ifndef OCANNL_CORE_BASE_CONTAINERS_LRU_CACHE_H_
#define OCANNL_CORE_BASE_CONTAINERS_LRU_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace ocannl {

template <class Value>
class LruCache {
 public:
  explicit LruCache(size_t capacity) : capacity_(capacity) {}
  LruCache(const LruCache&) = delete;

  // The value of `key`, to be used before the next Insert; null: none.
  Value* Find(absl::string_view key) {
    auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &entries_.front().second;
  }

  // `key` must not be there.
  void Insert(std::string key, Value value) {
    entries_.emplace_front(std::move(key), std::move(value));
    places_.emplace(entries_.front().first, entries_.begin());
    if (entries_.size() <= capacity_) return;
    places_.erase(entries_.back().first);
    entries_.pop_back();
    ++dropped_;
  }

  // How many values were dropped so far.
  int64_t dropped() const { return dropped_; }

 private:
  using Entries = std::list<std::pair<std::string, Value>>;

  size_t capacity_;
  Entries entries_;  // the most recently used first
  absl::flat_hash_map<absl::string_view, typename Entries::iterator> places_;
  int64_t dropped_ = 0;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_CONTAINERS_LRU_CACHE_H_
