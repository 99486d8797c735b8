// SPDX-License-Identifier: Apache-2.0
//
// StableVector: a sequence that grows at its end, to at most 2^32 - 1 elements.
// They stay where they are, and can be removed at both ends.
//
//   StableVector<Array> arrays;
//   Array& first = arrays.emplace_back();  // valid until it is removed
//   for (const Array& array : arrays) Print(array);
//   for (; !arrays.empty(); arrays.pop_front()) Use(std::move(arrays.front()));
//
// It is a list of blocks that double up to 64 KB, as in a VList (Bagwell, "Fast
// functional lists, hash-lists, deques and variable length arrays", 2002). A
// std::deque has blocks of 512 bytes, which lie far apart in a large heap.
#ifndef OCANNL_CORE_BASE_CONTAINERS_STABLE_VECTOR_H_
#define OCANNL_CORE_BASE_CONTAINERS_STABLE_VECTOR_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace ocannl {

template <class T>
class StableVector {
  template <class Value>
  class Iterator;

 public:
  using value_type = T;
  using iterator = Iterator<T>;
  using const_iterator = Iterator<const T>;

  StableVector() = default;
  StableVector(const StableVector& other) {
    for (const T& value : other) emplace_back(value);
  }
  StableVector(StableVector&& other) noexcept { swap(other); }
  StableVector& operator=(StableVector other) noexcept {
    swap(other);
    return *this;
  }
  ~StableVector() { clear(); }

  size_t size() const { return stop_ - first_; }
  bool empty() const { return stop_ == first_; }

  // As of a vector, an index out of range is undefined behaviour. So are the
  // ends of an empty sequence.
  T& operator[](size_t k) { return *At(first_ + k); }
  const T& operator[](size_t k) const { return *At(first_ + k); }
  T& front() { return *At(first_); }
  const T& front() const { return *At(first_); }
  T& back() { return *At(stop_ - 1); }
  const T& back() const { return *At(stop_ - 1); }

  iterator begin() { return {this, first_}; }
  iterator end() { return {this, stop_}; }
  const_iterator begin() const { return {this, first_}; }
  const_iterator end() const { return {this, stop_}; }
  auto rbegin() const { return std::reverse_iterator(end()); }
  auto rend() const { return std::reverse_iterator(begin()); }

  template <class... Args>
  T& emplace_back(Args&&... args) {
    const Place place = PlaceOf(stop_);
    if (place.block == blocks_.size()) {
      blocks_.push_back(std::allocator<T>().allocate(SizeOf(place.block)));
    }
    T* at = std::construct_at(blocks_[place.block] + place.offset,
                              std::forward<Args>(args)...);
    ++stop_;
    return *at;
  }
  void push_back(T value) { emplace_back(std::move(value)); }

  void pop_back() { std::destroy_at(At(--stop_)); }

  // Frees the memory of a block after its last element.
  void pop_front() {
    std::destroy_at(At(first_));
    const uint32_t block = PlaceOf(first_++).block;
    if (empty()) return clear();
    if (PlaceOf(first_).block != block) Free(block);
  }

  void clear() {
    for (; !empty(); ++first_) std::destroy_at(At(first_));
    for (uint32_t block = 0; block < blocks_.size(); ++block) Free(block);
    blocks_ = {};
    first_ = stop_ = 0;
  }

  void swap(StableVector& other) noexcept {
    std::swap(blocks_, other.blocks_);
    std::swap(first_, other.first_);
    std::swap(stop_, other.stop_);
  }

 private:
  // The blocks have kSmall, kSmall, 2 kSmall, 4 kSmall ... elements. The blocks
  // after the first kLarge elements have kLarge each. StartTraining of 10,000
  // parameters takes 0.74 of the time of blocks of 512 bytes if the largest
  // have 16 KB, 0.71 with 32 KB and 0.68 with 64 KB (`bench
  // --filter=start/params_10000`).
  static constexpr uint32_t ThatFit(size_t bytes) {
    return std::bit_floor(std::max<size_t>(1, bytes / sizeof(T)));
  }
  static constexpr uint32_t kSmall = ThatFit(512);
  static constexpr uint32_t kLarge = ThatFit(65536);
  static constexpr uint32_t kDoublings = std::bit_width(kLarge / kSmall) - 1;

  struct Place {
    uint32_t block;
    uint32_t offset;
  };
  static Place PlaceOf(uint32_t k) {
    if (k >= kLarge) return {kDoublings + k / kLarge, k % kLarge};
    const uint32_t block = std::bit_width(k / kSmall);
    return {block, block == 0 ? k : k - SizeOf(block)};
  }
  // The number of elements of a block. A block that is smaller than kLarge, and
  // not the first, has as many as all blocks before it.
  static uint32_t SizeOf(uint32_t block) {
    return block > kDoublings ? kLarge : kSmall << (block == 0 ? 0 : block - 1);
  }

  T* At(uint32_t k) const {
    const Place place = PlaceOf(k);
    return blocks_[place.block] + place.offset;
  }
  void Free(uint32_t block) {
    if (blocks_[block] == nullptr) return;
    std::allocator<T>().deallocate(blocks_[block], SizeOf(block));
    blocks_[block] = nullptr;
  }

  template <class Value>
  class Iterator {
   public:
    using value_type = T;
    using difference_type = ptrdiff_t;

    Iterator() = default;
    Iterator(const StableVector* of, uint32_t k) : of_(of), k_(k) {}
    operator Iterator<const T>() const { return {of_, k_}; }

    Value& operator*() const { return *of_->At(k_); }
    Value* operator->() const { return of_->At(k_); }
    Iterator& operator++() { return ++k_, *this; }
    Iterator operator++(int) { return {of_, k_++}; }
    Iterator& operator--() { return --k_, *this; }
    Iterator operator--(int) { return {of_, k_--}; }
    friend bool operator==(Iterator, Iterator) = default;

   private:
    const StableVector* of_ = nullptr;
    uint32_t k_ = 0;
  };

  std::vector<T*> blocks_;
  uint32_t first_ = 0;  // elements before it were removed
  uint32_t stop_ = 0;
};

// As std::erase_if of a vector.
template <class T>
void EraseIf(StableVector<T>& values, auto is_erased) {
  StableVector<T> kept;
  for (; !values.empty(); values.pop_front()) {
    if (is_erased(values.front())) continue;
    kept.push_back(std::move(values.front()));
  }
  values = std::move(kept);
}

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_CONTAINERS_STABLE_VECTOR_H_
