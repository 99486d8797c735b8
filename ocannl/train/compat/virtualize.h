// SPDX-License-Identifier: Apache-2.0
//
// OCANNL's settings of inlining, for one piece of code. Without them, the cost
// model of opt/virtualize.h decides.
//
//   OCANNL_ASSIGN_OR_RETURN(Assignments step, GradUpdate(model, loss));
//   OCANNL_RETURN_IF_ERROR(
//       SetVirtualization({.inline_simple_computations = false}, step));
//   OCANNL_ASSIGN_OR_RETURN(Routine routine, ToRoutine(context, step, {}));
#ifndef OCANNL_TRAIN_COMPAT_VIRTUALIZE_H_
#define OCANNL_TRAIN_COMPAT_VIRTUALIZE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "ocannl/core/assign/ir.h"

namespace ocannl::train {

// OCANNL's defaults. Its `max_tracing_dim` is missing, because visits are
// counted from the indices here, and not by running the loops.
struct VirtualizeSettings {
  // False: every array is kept, and can be read after a run.
  bool enable_device_only = true;
  // How often a cell may be read in a run, for its array to be inlined.
  int64_t max_visits = 1;
  // Arrays of one cell that is computed from constants are inlined.
  bool inline_scalar_constexprs = true;
  // Copies of arrays, and what is computed from constants, are inlined whatever
  // the visits; false: they are like other computations.
  bool inline_simple_computations = true;
  // Operations on arrays are inlined where the visits allow it; false: never.
  bool inline_complex_computations = true;
};

// Decides for each array of `code` whose memory mode nobody asked for: virtual,
// where the settings say so and inlining is possible, or an array in memory.
// Where it is not possible, as for sums, the array stays undecided. The bits
// stay the same. To be called when the code is complete. Errors: those of Lower
// and Optimize; a negative number of visits.
absl::Status SetVirtualization(const VirtualizeSettings& settings,
                               Assignments& code);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_COMPAT_VIRTUALIZE_H_
