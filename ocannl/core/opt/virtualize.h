// SPDX-License-Identifier: Apache-2.0
//
// Virtualize: forward substitution of temps, which fuses producers into their
// consumers (Halide's compute_inline). It replaces reads of a temp by the
// expression that computes it, if recomputing costs no more than storing and
// loading (cost.h): that is dear where the temp does not fit in caches.
//
//   for i0 { t[i0] := b[i0] + n[i0]; }       for i1 {
//   for i1 { y[i1] := relu(t[i1]); }    ->     y[i1] := relu(b[i1] + n[i1]);
//                                            }
//
// A temp or a virtual buffer qualifies if one nest of loops sets each of its
// cells once, without accumulating. If a later nest sets all of them again, as
// in t[i] := t[i] + c[i], the cells until then are a value of their own, as in
// static single assignment (SSA) form. Nothing that the value depends on may
// change between the nest and any use. A value is inlined everywhere or
// nowhere; a nest that is inlined everywhere is removed. Uses may be in any
// statement. Virtual buffers are inlined also where loading costs less, up to
// kMaxInlinedCost.
#ifndef OCANNL_CORE_OPT_VIRTUALIZE_H_
#define OCANNL_CORE_OPT_VIRTUALIZE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// What a cell that is inlined costs at most (cost.h): text, verification and
// code generation of an expression stay bounded. To measure: `bazel run
// //experiments:bench -- --filter=compile/`.
inline constexpr int kMaxInlinedCost = 100;

// Same bits: every inlined expression is the one that was stored.
LoopProgram Virtualize(LoopProgram program);

// Why Virtualize leaves the scratch buffer `name` of `program` as it is: "its
// cells are set in more than one step, as those of a sum are".
std::string WhyNotInlined(LoopProgram program, absl::string_view name);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPT_VIRTUALIZE_H_
