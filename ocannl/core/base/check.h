// SPDX-License-Identifier: Apache-2.0
//
// Assertions (CHECK, as in glog) about bugs of the engine. They are always on,
// print where and why to stderr, and abort. What a user can cause is an
// absl::Status instead.
//
//   CHECK(lanes > 0) << "schedule of " << name;
//   CHECK_EQ(dims.size(), axes.size());
//   CHECK_OK(Verify(program));
//
// Arguments are evaluated once; the streamed message only if it does not hold.

#ifndef OCANNL_CORE_BASE_CHECK_H_
#define OCANNL_CORE_BASE_CHECK_H_

#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Aborts unless `condition` holds.
#define CHECK(condition)                                                 \
  while (ABSL_PREDICT_FALSE(!(condition)))                               \
  ::ocannl::check_internal::FatalMessage(__FILE__, __LINE__, #condition) \
      .stream()

// Abort unless the comparison holds; print both sides. Integers of different
// signedness compare by value, so CHECK_LT(-1, size) is true.
#define CHECK_EQ(a, b) OCANNL_CHECK_COMPARE(Equal, a, b, #a " == " #b)
#define CHECK_NE(a, b) OCANNL_CHECK_COMPARE(NotEqual, a, b, #a " != " #b)
#define CHECK_LT(a, b) OCANNL_CHECK_COMPARE(Less, a, b, #a " < " #b)
#define CHECK_LE(a, b) OCANNL_CHECK_COMPARE(LessEqual, a, b, #a " <= " #b)
#define CHECK_GT(a, b) OCANNL_CHECK_COMPARE(Greater, a, b, #a " > " #b)
#define CHECK_GE(a, b) OCANNL_CHECK_COMPARE(GreaterEqual, a, b, #a " >= " #b)

// Aborts unless an absl::Status or absl::StatusOr is OK; prints its message.
#define CHECK_OK(status)                                                       \
  while (const std::string* ocannl_error =                                     \
             ::ocannl::check_internal::DescribeError(status))                  \
  ::ocannl::check_internal::FatalMessage(__FILE__, __LINE__, #status " is OK") \
          .stream()                                                            \
      << *ocannl_error << " "

// `while` rather than `if`: it cannot steal the `else` of the surrounding code.
#define OCANNL_CHECK_COMPARE(compare, a, b, text)                           \
  while (const std::string* ocannl_error =                                  \
             ::ocannl::check_internal::DescribeUnless(                      \
                 ::ocannl::check_internal::compare(), (a), (b)))            \
  ::ocannl::check_internal::FatalMessage(__FILE__, __LINE__, text).stream() \
      << *ocannl_error << " "

namespace ocannl::check_internal {

// Collects a message; its destructor prints it and aborts.
class FatalMessage {
 public:
  FatalMessage(const char* file, int line, const char* text);
  FatalMessage(const FatalMessage&) = delete;
  FatalMessage& operator=(const FatalMessage&) = delete;
  [[noreturn]] ~FatalMessage();

  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

template <typename T>
concept Integer = std::is_integral_v<T> && !std::is_same_v<T, bool> &&
                  !std::is_same_v<T, char>;

#define OCANNL_DEFINE_COMPARISON(name, op, by_value)    \
  struct name {                                         \
    template <typename A, typename B>                   \
    constexpr bool operator()(const A& a, const B& b) { \
      if constexpr (Integer<A> && Integer<B>) {         \
        return std::by_value(a, b);                     \
      } else {                                          \
        return a op b;                                  \
      }                                                 \
    }                                                   \
  }
OCANNL_DEFINE_COMPARISON(Equal, ==, cmp_equal);
OCANNL_DEFINE_COMPARISON(NotEqual, !=, cmp_not_equal);
OCANNL_DEFINE_COMPARISON(Less, <, cmp_less);
OCANNL_DEFINE_COMPARISON(LessEqual, <=, cmp_less_equal);
OCANNL_DEFINE_COMPARISON(Greater, >, cmp_greater);
OCANNL_DEFINE_COMPARISON(GreaterEqual, >=, cmp_greater_equal);
#undef OCANNL_DEFINE_COMPARISON

template <typename T>
void Print(const T& value, std::ostream& out) {
  if constexpr (std::is_enum_v<T>) {
    out << +static_cast<std::underlying_type_t<T>>(value);
  } else if constexpr (Integer<T>) {
    out << +value;  // int8_t is a number here, not a character.
  } else if constexpr (requires { out << value; }) {
    out << value;
  } else {
    out << "(unprintable)";
  }
}

template <typename A, typename B>
[[gnu::cold]] const std::string* DescribeSides(const A& a, const B& b) {
  std::ostringstream out;
  out << "(";
  Print(a, out);
  out << " vs. ";
  Print(b, out);
  out << ")";
  return new std::string(out.str());  // Never freed: the process ends.
}

// Null when the comparison holds.
template <typename Compare, typename A, typename B>
constexpr const std::string* DescribeUnless(Compare compare, const A& a,
                                            const B& b) {
  if (ABSL_PREDICT_TRUE(compare(a, b))) return nullptr;
  return DescribeSides(a, b);
}

// Null when `status` is OK.
const std::string* DescribeFailure(const absl::Status& status);

// Inline, for routines that run in less than a microsecond check statuses too.
inline const std::string* DescribeError(const absl::Status& status) {
  return ABSL_PREDICT_TRUE(status.ok()) ? nullptr : DescribeFailure(status);
}

template <typename T>
const std::string* DescribeError(const absl::StatusOr<T>& value) {
  return DescribeError(value.status());
}

}  // namespace ocannl::check_internal

#endif  // OCANNL_CORE_BASE_CHECK_H_
