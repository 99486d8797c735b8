// SPDX-License-Identifier: Apache-2.0
//
// Random: the same numbers from a seed on every machine and with every
// compiler. Of the arguments of one call, or the operands of one operator, no
// two may draw: their order is the compiler's (tests/fuzz/seeds_test.cc).
#ifndef OCANNL_FUZZ_PROGRAMS_RANDOM_H_
#define OCANNL_FUZZ_PROGRAMS_RANDOM_H_

#include <cstdint>
#include <iterator>
#include <random>

namespace ocannl::fuzz {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t Bits() { return engine_(); }
  // In [0, bound).
  int64_t Below(int64_t bound) {
    return static_cast<int64_t>(Bits() % static_cast<uint64_t>(bound));
  }
  bool OneIn(int64_t n) { return Below(n) == 0; }
  // In [low, high).
  double Between(double low, double high) {
    return low + (high - low) * 0x1p-53 * static_cast<double>(Bits() >> 11);
  }
  // One of the elements.
  template <class List>
  auto& Pick(List& list) {
    return *(std::begin(list) + Below(std::size(list)));
  }
  template <class List>
  void Shuffle(List& list) {
    for (int64_t k = std::size(list); k > 1; --k) {
      std::swap(list[k - 1], list[Below(k)]);
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_PROGRAMS_RANDOM_H_
