// SPDX-License-Identifier: Apache-2.0
//
// Id: a 4-byte index into a pool or table, typed so that indices cannot be
// mixed up. IdVector: a table by such an id, as rustc's IndexVec and
// Cranelift's PrimaryMap and SecondaryMap are.
//
//   struct TensorTag;
//   using TensorId = Id<TensorTag>;
//   IdVector<TensorId, Shape> shapes;
//   TensorId id = shapes.Add(shape);
//   for (TensorId id : shapes.ids()) Print(shapes[id]);
#ifndef OCANNL_CORE_BASE_CONTAINERS_ID_H_
#define OCANNL_CORE_BASE_CONTAINERS_ID_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ocannl {

template <class Tag>
struct Id {
  int32_t index = -1;  // -1: no id

  bool valid() const { return index >= 0; }
  Id operator++(int) { return {index++}; }  // of a counter of new ids
  friend auto operator<=>(Id, Id) = default;

  template <class H>
  friend H AbslHashValue(H h, Id id) {
    return H::combine(std::move(h), id.index);
  }
};

// The ids from 0 to the one before `stop`, for a loop.
template <class IdType>
struct IdRange {
  struct Iterator {
    IdType id;
    IdType operator*() const { return id; }
    void operator++() { ++id.index; }
    friend bool operator==(Iterator, Iterator) = default;
  };
  Iterator begin() const { return {{0}}; }
  Iterator end() const { return {stop}; }
  IdType stop;
};

// A vector, or Base, but for its index.
template <class IdType, class T, class Base = std::vector<T>>
class IdVector : public Base {
 public:
  using Base::Base;
  typename Base::reference operator[](IdType id) {
    return Base::operator[](static_cast<uint32_t>(id.index));
  }
  typename Base::const_reference operator[](IdType id) const {
    return Base::operator[](static_cast<uint32_t>(id.index));
  }

  // The id of the next value, and of one that is appended.
  IdType next_id() const { return {static_cast<int32_t>(Base::size())}; }
  IdType Add(T value) {
    Base::push_back(std::move(value));
    return {next_id().index - 1};
  }
  IdRange<IdType> ids() const { return {next_id()}; }
};

// A map from ids, in an array: for one that has most ids up to its greatest.
template <class IdType, class T>
class IdMap {
 public:
  using value_type = std::pair<IdType, T>;  // of no id: it has none there

  template <class Value>
  struct Iterator {
    Value* at;
    Value* stop;
    Value& operator*() const { return *at; }
    Value* operator->() const { return at; }
    void operator++() {
      do ++at;
      while (at != stop && !at->first.valid());
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;
  };

  bool contains(IdType id) const {
    return static_cast<uint32_t>(id.index) < slots_.size() &&
           slots_[id.index].first.valid();
  }
  // An id that it does not have ends the process.
  const T& at(IdType id) const noexcept {
    return slots_.at(contains(id) ? id.index : slots_.size()).second;
  }
  T& operator[](IdType id) {
    const auto place = static_cast<uint32_t>(id.index);
    if (place >= slots_.size()) slots_.resize(size_t{place} + 1);
    slots_[place].first = id;
    return slots_[place].second;
  }
  void erase(IdType id) {
    if (contains(id)) slots_[id.index] = {};
  }

  auto find(IdType id) const { return From(contains(id) ? id.index : Stop()); }
  auto begin() const {
    size_t first = 0;
    while (first < Stop() && !slots_[first].first.valid()) ++first;
    return From(first);
  }
  auto end() const { return From(Stop()); }
  bool empty() const { return begin() == end(); }
  size_t size() const {
    size_t count = 0;
    for (const value_type& slot : slots_) count += slot.first.valid() ? 1 : 0;
    return count;
  }

 private:
  size_t Stop() const { return slots_.size(); }
  Iterator<const value_type> From(size_t place) const {
    return {slots_.data() + place, slots_.data() + Stop()};
  }

  std::vector<value_type> slots_;
};

// The id of a value that is elsewhere, in a hash set of ids, where a key finds
// it: {hash, ...} with `IsOf(id)`. Both know the hash: growing reads no value.
template <class IdType>
struct HashedId {
  uint32_t hash;
  IdType id;

  struct Hash {
    using is_transparent = void;
    size_t operator()(const auto& of) const { return of.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const HashedId& a, const HashedId& b) const {
      return a.id == b.id;
    }
    bool operator()(const HashedId& slot, const auto& key) const {
      return slot.hash == key.hash && key.IsOf(slot.id);
    }
  };
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_CONTAINERS_ID_H_
