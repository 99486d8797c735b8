// SPDX-License-Identifier: Apache-2.0
//
// CanonicalizeNests: perfectly nested loops in canonical form, which is what
// the scheduler plans: output loops outside of reduced ones, and none of one
// iteration.
//
//   for i1 { for i2 = 0 to 0 { for i3 { y[i3, i2] += x[i1, i3]; } } }
//     ->  for i3 { for i1 { y[i3, 0] += x[i1, i3]; } }
#ifndef OCANNL_CORE_SCHEDULE_NESTS_CANONICALIZE_H_
#define OCANNL_CORE_SCHEDULE_NESTS_CANONICALIZE_H_

#include <deque>
#include <variant>
#include <vector>

#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// What a statement is; monostate: one that stays as it is.
using CanonicalNest = std::variant<std::monostate, PerfectNest, ScatterNest>;

// A statement of the body that is to be fused, and what is known of it.
struct WaitingNest {
  std::vector<Stmt> comments;  // right before it: they move with it
  Stmt stmt;
  CanonicalNest nest;
  Effects effects;
  bool is_alone;  // it stays as it is
};
using WaitingNests = std::deque<WaitingNest>;

// Returns what each statement of the program's body is then. Comments in nests
// go; sums of numbers of less than 32 bits stay as they are.
std::vector<CanonicalNest> CanonicalizeNests(LoopProgram& program);

// The same where no statement is changed: one in another form stays as it is.
// The program gets expressions that nothing uses.
std::vector<CanonicalNest> CanonicalNestsOf(LoopProgram& program);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_NESTS_CANONICALIZE_H_
