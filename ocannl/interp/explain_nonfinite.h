// SPDX-License-Identifier: Apache-2.0
//
// ExplainNonfinite: ends a run where the first NaN or infinity comes from.
//
//   `p` makes -inf of finite numbers in
//     y[i0] := log(x[i0]) * 2;
//   where
//     i0 = 3
//     x[3] = 0
//     log(x[i0]) = -inf
//     y[3] = -inf
//
// The origin is an operation with finite operands and another result, if a
// statement stores what depends on it. One that the program has as a constant,
// such as the start of a maximum, or as an input is no error, and neither is
// what depends on it.
#ifndef OCANNL_INTERP_EXPLAIN_NONFINITE_H_
#define OCANNL_INTERP_EXPLAIN_NONFINITE_H_

#include "absl/status/status.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/interp/observer.h"

namespace ocannl::interp {

class ExplainNonfinite : public RunObserver {
 public:
  absl::Status Stores(const RunState& run, const Stmt& stmt,
                      const Constant& result) override;
};

}  // namespace ocannl::interp

#endif  // OCANNL_INTERP_EXPLAIN_NONFINITE_H_
