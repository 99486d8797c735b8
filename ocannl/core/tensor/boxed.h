// SPDX-License-Identifier: Apache-2.0
//
// Boxed: a value on the heap, for a large member that few objects have. A copy
// copies the value; without one it takes a pointer and is T().
//
//   struct Node { Boxed<Spec> spec; };
//   node.spec->bases;  node.spec[kind];  node.spec.Mutable()[kind] = ...;
#ifndef OCANNL_CORE_TENSOR_BOXED_H_
#define OCANNL_CORE_TENSOR_BOXED_H_

#include <memory>
#include <utility>

namespace ocannl {

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

 private:
  std::unique_ptr<T> value_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_BOXED_H_
