// SPDX-License-Identifier: Apache-2.0
//
// SecondsSince: time that passed, by the clock that is never set back.
#ifndef EXPERIMENTS_SUPPORT_SECONDS_SINCE_H_
#define EXPERIMENTS_SUPPORT_SECONDS_SINCE_H_

#include <chrono>

namespace ocannl {

using Clock = std::chrono::steady_clock;

inline double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_SECONDS_SINCE_H_
