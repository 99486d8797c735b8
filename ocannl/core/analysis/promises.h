// SPDX-License-Identifier: Apache-2.0
//
// VerifyPromises: that `par` and `vec` loops are what they say they are, which
// back ends trust.
//
//   par i1 = 0 to 7 { y[i1] := x[i1]; }          kept
//   par i1 = 0 to 7 { s[] := s[] + x[i1]; }      broken: all write s[]
//
// Proved as dependence.h says: what is not proved is broken.
#ifndef OCANNL_CORE_ANALYSIS_PROMISES_H_
#define OCANNL_CORE_ANALYSIS_PROMISES_H_

#include "absl/status/status.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/loop/verify.h"

namespace ocannl {

// Whether `loop`, a loop of the program, may be of the kind. InvalidArgument
// names it and the two accesses that conflict. Other kinds than `par` and `vec`
// promise nothing here.
absl::Status CheckKind(const LoopProgram& program, const For& loop,
                       LoopKind kind);

// InvalidArgument names the first loop that breaks its promise, and how.
absl::Status CheckKinds(const LoopProgram& program,
                        FaultPlace* place = nullptr);

// What Verify says, and then CheckKinds.
absl::Status VerifyPromises(const LoopProgram& program,
                            FaultPlace* place = nullptr);

}  // namespace ocannl

#endif  // OCANNL_CORE_ANALYSIS_PROMISES_H_
