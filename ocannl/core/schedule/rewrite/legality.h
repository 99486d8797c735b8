// SPDX-License-Identifier: Apache-2.0
//
// Legality: whether a rewrite proves that no dependence forbids it.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_LEGALITY_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_LEGALITY_H_

#include <cstdint>

namespace ocannl::rewrite {

// Rewrites of users always do. Those of the scheduler do in tests; a back end
// trusts it, which takes less time.
enum class Legality : uint8_t { kProve, kTrust };

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_LEGALITY_H_
