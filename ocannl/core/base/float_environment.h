// SPDX-License-Identifier: Apache-2.0
//
// DefaultFloatEnvironment: while it lives, this thread rounds to nearest, keeps
// subnormal numbers and does not trap, whatever a foreign library set.
//
//   DefaultFloatEnvironment guard;
//   executable.Run(buffers, statics);
#ifndef OCANNL_CORE_BASE_FLOAT_ENVIRONMENT_H_
#define OCANNL_CORE_BASE_FLOAT_ENVIRONMENT_H_

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace ocannl {

#if defined(__x86_64__)

class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() : saved_(_mm_getcsr()) {
    if ((saved_ & kModes) != kDefault) _mm_setcsr(kDefault);
  }
  ~DefaultFloatEnvironment() {
    if ((saved_ & kModes) != kDefault) _mm_setcsr(saved_);
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;

 private:
  static constexpr unsigned kModes = 0xffc0;  // the rest says what happened
  static constexpr unsigned kDefault = 0x1f80;

  const unsigned saved_;
};

#else

class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&saved_); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};

#endif

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_FLOAT_ENVIRONMENT_H_
