// SPDX-License-Identifier: Apache-2.0
#include "ocannl/tiers/probes.h"

#include "gtest/gtest.h"

namespace ocannl {
namespace {

// Wide enough for any machine that runs anything else beside the test.
TEST(ProbesTest, RatesArePlausible) {
  absl::StatusOr<Probes> probes = Probes::Make(/*threads=*/2);
  if (!probes.ok()) GTEST_SKIP() << probes.status();
  for (ProbeKind kind :
       {ProbeKind::kFma, ProbeKind::kClock, ProbeKind::kL1Copy,
        ProbeKind::kCacheCopy, ProbeKind::kCacheRead, ProbeKind::kL3Copy,
        ProbeKind::kMemoryCopy, ProbeKind::kMemoryRead}) {
    double rate = probes->Rate(kind);
    EXPECT_GT(rate, 1e7) << Name(kind);
    EXPECT_LT(rate, 1e13) << Name(kind);
  }
}

TEST(ProbesTest, CacheIsSmallerThanMemory) {
  EXPECT_LT(ProbeBytes(ProbeKind::kCacheCopy),
            ProbeBytes(ProbeKind::kMemoryCopy) / 16);
}

}  // namespace
}  // namespace ocannl
