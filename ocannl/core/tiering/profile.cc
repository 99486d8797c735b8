// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/profile.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ocannl {

void DurationSamples::Add(int64_t nanoseconds) {
  if (count_++ % every_ != 0) return;
  if (kept_.size() == kMost) {
    for (size_t k = 0; k < kMost / 2; ++k) kept_[k] = kept_[2 * k];
    kept_.resize(kMost / 2);
    every_ *= 2;
  }
  kept_.push_back(nanoseconds);
}

double DurationSamples::Quantile(double share) const {
  if (kept_.empty()) return 0;
  std::vector<int64_t> sorted = kept_;
  std::sort(sorted.begin(), sorted.end());
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return 1e-9 * static_cast<double>(
                    sorted[static_cast<size_t>(std::max(rank, 1.)) - 1]);
}

Profile& Profile::OfProcess() {
  static auto* profile = new Profile();
  return *profile;
}

void Profile::Add(std::shared_ptr<const ProgramProfile> program) {
  std::lock_guard<std::mutex> lock(mutex_);
  programs_.push_back(std::move(program));
}

std::vector<std::shared_ptr<const ProgramProfile>> Profile::programs() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return programs_;
}

}  // namespace ocannl
