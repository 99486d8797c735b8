// SPDX-License-Identifier: Apache-2.0
//
// Stopwatch: how long it is since it was made.
//
//   const Stopwatch watch;
//   while (watch.Seconds() <= options.seconds) { ... }
#ifndef OCANNL_FUZZ_STOPWATCH_H_
#define OCANNL_FUZZ_STOPWATCH_H_

#include <chrono>

namespace ocannl::fuzz {

class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_STOPWATCH_H_
