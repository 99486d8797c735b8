// SPDX-License-Identifier: Apache-2.0
//
// ScheduleNests: rewrites each nest as it was planned: the pass "rewrite" of
// Schedule.
#ifndef OCANNL_CORE_SCHEDULE_CPU_NEST_SCHEDULER_H_
#define OCANNL_CORE_SCHEDULE_CPU_NEST_SCHEDULER_H_

#include <vector>

#include "absl/status/status.h"
#include "ocannl/core/schedule/cpu/fuse_nests.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl {

// `nests` are the statements of the program's body. With `verifies`, each is
// verified among those that share its buffers, and one that is refused keeps
// its loops. Error, with the program lost: that of a rewrite; none if it
// `verifies`.
absl::Status ScheduleNests(LoopProgram& program, const FusedNests& nests,
                           const Target& target, const ScheduleOptions& options,
                           bool verifies);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_NEST_SCHEDULER_H_
