// SPDX-License-Identifier: Apache-2.0
//
// FuseNests: loop fusion. Pointwise nests are fused into the loops of the nest
// whose result they use, and a zero_out into the contraction after it. Nests
// that reduce rows are fused with the users of the reduced rows (rows.h).
//
//   zero_out t; for i, j { for k { t[i, j] := ...; } }
//   for i, j { y[i, j] := relu(t[i, j]); }
//     ->  for i, j { t[i, j] := 0; for k { t[i, j] := ...; }
//                    y[i, j] := relu(t[i, j]); }
//
// Statements move towards each other for it, if no dependence forbids that.
// This pass chooses the nests; rewrites fuse them (rewrite/rewrite.h).
#ifndef OCANNL_CORE_SCHEDULE_CPU_FUSE_NESTS_H_
#define OCANNL_CORE_SCHEDULE_CPU_FUSE_NESTS_H_

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/cpu/contract.h"
#include "ocannl/core/schedule/cpu/rows.h"
#include "ocannl/core/schedule/nests/canonicalize.h"
#include "ocannl/core/schedule/rewrite/legality.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl {

// A pointwise nest, and what is fused with it, in order, with its iterators.
struct MapNest {
  PerfectNest nest;
  std::vector<Set> consumers;
};

// What a statement became. Long programs have many that stay as they are: null.
using FusedNest = std::variant<MapNest, Contraction, ScatterNest, FusedRows>;
using FusedNests = std::vector<std::shared_ptr<const FusedNest>>;

struct FusedProgram {
  LoopProgram program;
  FusedNests nests;  // of each statement of its body
};

struct FuseOptions {
  rewrite::Legality legality = rewrite::Legality::kProve;
  rewrite::Script* script = nullptr;  // gets the rewrites; null: none
  // Nests whose outermost loops these are stay as they are.
  absl::flat_hash_set<IteratorId> alone = {};
};

// `program` is one that Verify accepts, and so is the result; `nests` are those
// of its body (CanonicalizeNests). Error: that of a rewrite.
absl::StatusOr<FusedProgram> FuseNests(LoopProgram program,
                                       std::vector<CanonicalNest> nests,
                                       const Target& target,
                                       const FuseOptions& options);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_FUSE_NESTS_H_
