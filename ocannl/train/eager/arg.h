// SPDX-License-Identifier: Apache-2.0
//
// Arguments of calls that are no tensors: numbers, texts, lists, and structs of
// options. A step repeats if they have the same bits: -0 is not 0, and a NaN is
// itself.
//
// The fields of a struct are those of a structured binding, whose number is
// that of the braces that the struct takes; a wrong number does not compile.
// Initializers are not compared: a parameter is made once.
#ifndef OCANNL_TRAIN_EAGER_ARG_H_
#define OCANNL_TRAIN_EAGER_ARG_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/train/blocks/init.h"

namespace ocannl::train {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// Of the first value of a parameter.
template <class T>
inline constexpr bool kIsInitializer =
    std::is_same_v<T, Initializer> || std::is_same_v<T, LayerInit>;

template <class T>
inline constexpr bool kIsText = std::is_convertible_v<T, absl::string_view>;

struct AnyField {
  template <class T>
  operator T() const;
};
// A LayerInit is made of anything.
struct InitField {
  operator LayerInit() const;
};

template <class T, class... Fields>
consteval size_t NumFields() {
  if constexpr (requires { T{Fields()..., AnyField()}; }) {
    return NumFields<T, Fields..., AnyField>();
  } else if constexpr (requires { T{Fields()..., InitField()}; }) {
    return NumFields<T, Fields..., InitField>();
  } else {
    return sizeof...(Fields);
  }
}

// References to the fields of a struct.
template <class T>
auto FieldsOf(const T& x) {
  constexpr size_t kSize = NumFields<T>();
  static_assert(kSize <= 12, "options have at most 12 fields");
#define OCANNL_FIELDS(size, ...)   \
  if constexpr (kSize == size) {   \
    const auto& [__VA_ARGS__] = x; \
    return std::tie(__VA_ARGS__);  \
  }
  if constexpr (kSize == 0) return std::tuple<>();
  OCANNL_FIELDS(1, a)
  OCANNL_FIELDS(2, a, b)
  OCANNL_FIELDS(3, a, b, c)
  OCANNL_FIELDS(4, a, b, c, d)
  OCANNL_FIELDS(5, a, b, c, d, e)
  OCANNL_FIELDS(6, a, b, c, d, e, f)
  OCANNL_FIELDS(7, a, b, c, d, e, f, g)
  OCANNL_FIELDS(8, a, b, c, d, e, f, g, h)
  OCANNL_FIELDS(9, a, b, c, d, e, f, g, h, i)
  OCANNL_FIELDS(10, a, b, c, d, e, f, g, h, i, j)
  OCANNL_FIELDS(11, a, b, c, d, e, f, g, h, i, j, k)
  OCANNL_FIELDS(12, a, b, c, d, e, f, g, h, i, j, k, l)
#undef OCANNL_FIELDS
}

template <class T>
bool SameArg(const T& a, const T& b);

template <class... T>
bool SameArgs(const std::tuple<T...>& a, const std::tuple<T...>& b) {
  return std::apply(
      [&](const auto&... x) {
        return std::apply(
            [&](const auto&... y) { return (SameArg(x, y) && ...); }, b);
      },
      a);
}

template <class T>
bool SameArg(const T& a, const T& b) {
  static_assert(!std::is_pointer_v<T>,
                "an argument is a number, a text, a list or a struct of them; "
                "tensors are arguments of their own");
  if constexpr (kIsInitializer<T> || std::is_same_v<T, std::monostate>) {
    return true;
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
  } else if constexpr (kIsOptional<T>) {
    return a.has_value() == b.has_value() && (!a || SameArg(*a, *b));
  } else if constexpr (requires { a.begin(); } && !kIsText<T>) {
    return std::equal(
        a.begin(), a.end(), b.begin(), b.end(),
        [](const auto& x, const auto& y) { return SameArg(x, y); });
  } else if constexpr (std::is_aggregate_v<T>) {
    return SameArgs(FieldsOf(a), FieldsOf(b));
  } else {
    return a == b;
  }
}

// Appends "0.5", or "1,2" of a list or a struct, after a comma unless `out` is
// empty.
template <class T>
void AppendArg(std::string* out, const T& x) {
  if constexpr (kIsInitializer<T> || std::is_same_v<T, std::monostate>) {
    return;
  } else if constexpr (kIsOptional<T>) {
    if (x) AppendArg(out, *x);
  } else if constexpr (requires { x.begin(); } && !kIsText<T>) {
    for (const auto& each : x) AppendArg(out, each);
  } else if constexpr (std::is_aggregate_v<T>) {
    std::apply([&](const auto&... fields) { (AppendArg(out, fields), ...); },
               FieldsOf(x));
  } else {
    if (!out->empty()) absl::StrAppend(out, ",");
    if constexpr (kIsText<T>) {
      absl::StrAppend(out, "\"", x, "\"");
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      absl::StrAppend(out, NumberText(static_cast<double>(x)));
    } else {
      absl::StrAppend(out, "...");
    }
  }
}

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_EAGER_ARG_H_
