// SPDX-License-Identifier: Apache-2.0
//
// Cascade: a sum in blocks (core/assign/sums/cascade.h), term by term.
//
//   Cascade sum(1024);
//   for (float term : terms) sum.Add(term);
//   EXPECT_EQ(result, sum.Sum());
#ifndef TESTS_SCHEDULE_PLAIN_CASCADE_H_
#define TESTS_SCHEDULE_PLAIN_CASCADE_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ocannl {

// One chain of sums for each level of blocks.
class Cascade {
 public:
  explicit Cascade(int64_t block, float start = 0, int64_t blocks = 128)
      : sums_{start}, blocks_{block}, most_blocks_(blocks) {}

  void Add(float term) { AddAt(0, term); }
  void AddProduct(float a, float b) {
    sums_[0] = std::fma(a, b, sums_[0]);
    Count(0);
  }

  float Sum() const {
    float sum = 0;
    for (float level : sums_) sum = level + sum;
    return sum;
  }

 private:
  void AddAt(size_t level, float term) {
    if (level == sums_.size()) {
      sums_.push_back(0);
      blocks_.push_back(most_blocks_);
    }
    sums_[level] += term;
    Count(level);
  }

  void Count(size_t level) {
    counts_.resize(sums_.size());
    if (++counts_[level] < blocks_[level]) return;
    counts_[level] = 0;
    AddAt(level + 1, std::exchange(sums_[level], 0));
  }

  std::vector<float> sums_;
  std::vector<int64_t> blocks_;
  int64_t most_blocks_;
  std::vector<int64_t> counts_;
};

}  // namespace ocannl

#endif  // TESTS_SCHEDULE_PLAIN_CASCADE_H_
