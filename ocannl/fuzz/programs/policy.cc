// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/programs/policy.h"

namespace ocannl::fuzz {

absl::string_view Name(Policy policy) {
  switch (policy) {
#define OCANNL_CASE(name, text) \
  case Policy::k##name:         \
    return text;
    OCANNL_POLICIES(OCANNL_CASE)
#undef OCANNL_CASE
  }
  __builtin_unreachable();
}

Policies DrawPolicies(Random& random) {
  Policies policies;
  for (int k = 0; k < kNumPolicies; ++k) {
    auto policy = static_cast<Policy>(k);
    // Values that run wild hide what else they go through.
    int64_t one_in = policy == Policy::kStructured   ? 2
                     : policy == Policy::kWildValues ? 5
                     : policy == Policy::kLayers     ? 4
                     : policy == Policy::kLoopKinds  ? 2
                                                     : 3;
    if (random.OneIn(one_in)) policies.Add(policy);
  }
  return policies;
}

int64_t DrawExtent(Random& random, const Policies& policies) {
  if (policies.Has(Policy::kUnitAxes) && random.OneIn(2)) return 1;
  constexpr int64_t kAroundLanes[] = {7,  8,  9,  15, 16, 17, 31, 32,
                                      33, 47, 48, 63, 64, 65, 80, 97};
  int64_t extent =
      random.OneIn(5) ? random.Pick(kAroundLanes) : 1 + random.Below(8);
  return policies.Has(Policy::kOddExtents) ? extent | 1 : extent;
}

LoopKind DrawKind(Random& random, const Policies& policies, int64_t extent,
                  bool outermost) {
  if (!policies.Has(Policy::kLoopKinds) || random.OneIn(3)) {
    return LoopKind::kFor;
  }
  if (outermost && random.OneIn(2)) return LoopKind::kPar;
  bool unroll = extent <= 9 && random.OneIn(3);
  return unroll ? LoopKind::kUnroll : LoopKind::kVec;
}

}  // namespace ocannl::fuzz
