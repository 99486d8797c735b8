// SPDX-License-Identifier: Apache-2.0
//
// PlanSteps: how each assignment is lowered, which depends on those before and
// behind it.
//
//   y =: 0; y =+ e    is y =: e where =+ reaches each cell once, and else the
//                     lanes of the sum start y: y =: 0 is elided
//   y =+ x[k]         ends with y + 0, so that a sum of zeros is +0
//
// Nothing adds 0 where no result depends on the sign of a zero (zero_signs.h).
// Lanes end with `+ 0` themselves. Where a chain may end with -0, its terms or
// results add 0, a pass over y does so, or the maps that read y.
#ifndef OCANNL_CORE_ASSIGN_SUMS_STEPS_H_
#define OCANNL_CORE_ASSIGN_SUMS_STEPS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/assign/sums/find_lanes.h"
#include "ocannl/core/assign/sums/zero_signs.h"
#include "ocannl/core/base/containers/stable_vector.h"

namespace ocannl {

// Where a step adds 0 to what it computes.
enum class AddsZero : uint8_t { kNowhere, kToTerms, kToResults };

// Where 0 is added after all terms: to the cells that the step has reached, to
// all cells of its array, or in the maps that read the array.
enum class ZeroPass : uint8_t { kNone, kTarget, kArray, kReaders };

// An assignment, and what differs from it in the loops.
struct LowerStep {
  const Assign* assign;
  bool is_elided = false;
  bool reaches_all = false;  // cells of its target (ReachesAll)
  bool zeroes = false;       // it sets all of them to 0
  std::optional<Op> accum;   // none: it sets the cells
  bool reset = false;
  AddsZero adds_zero = AddsZero::kNowhere;
  ZeroPass zero_pass = ZeroPass::kNone;
  // Null: in order.
  std::unique_ptr<const LaneSplit> lanes = nullptr;
};

// What the steps do with an array.
struct ArrayUse {
  bool is_stored = false;   // a run finds its values, or leaves them
  bool read_first = false;  // before it is written
  bool written = false;
  bool part_first = false;  // what writes it first need not reach all of it
};

struct StepPlan {
  // Of each Assign, in blocks: a reader can free those that it has read.
  StableVector<LowerStep> steps;
  // Of the sources of all steps, one after the other, whether results depend on
  // the sign of a zero there (zero_signs.h): only there do readers add 0.
  std::vector<bool> shows_signs;
  std::vector<ArrayUse> uses;  // of each array
};

// `sums`: the partial sums of the code.
StepPlan PlanSteps(const Assignments& code, const PartialSums& sums);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_SUMS_STEPS_H_
