// SPDX-License-Identifier: Apache-2.0
//
// CascadeSums: superblock summation: code that sums floats in blocks, then the
// sums of blocks likewise (Castaldo, Whaley and Chronopoulos, Reducing
// floating-point error in dot product using the superblock family of
// algorithms, 2008). The error grows with L * log(n) / log(L), not with n.
//
//   y[j] =:+ x[k, j]     of 1000 terms, where a block has L = 128
//     ->
//   y.blocks[b, j] =:+ x[128*b + k, j]     of b < 7, k < 128
//   y[j] =:+ y.blocks[b, j]
//   y.rest[j] =:+ x[896 + k, j]            of k < 104
//   y[j] =+ y.rest[j]
//
// A block is so many iterations of one reduced loop, times those of the loops
// inside of it. So its bounds do not depend on the outermost reduced axis, and
// zeros that are appended there change no bit. What `=+` finds in the target
// starts the first block. Sums in lanes (find_lanes.h) are cut into
// blocks of L steps of all lanes; each block has its tree. Scatters, lookups
// and statements that read their target keep their order.
#ifndef OCANNL_CORE_ASSIGN_SUMS_CASCADE_H_
#define OCANNL_CORE_ASSIGN_SUMS_CASCADE_H_

#include <cstdint>
#include <optional>

#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/assign/sums/find_lanes.h"

namespace ocannl {

// The most terms of a block. These are part of what a program means; a build
// can define others to measure them (docs/numerics.md).
#ifndef OCANNL_CONTRACTION_BLOCK
#define OCANNL_CONTRACTION_BLOCK 1024
#endif
#ifndef OCANNL_SUM_BLOCK
#define OCANNL_SUM_BLOCK 128
#endif
// Of a contraction (find_lanes.h). A multiple of each kc that caches ask for.
inline constexpr int64_t kContractionBlock = OCANNL_CONTRACTION_BLOCK;
// Of other chains, and of a lane.
inline constexpr int64_t kSumBlock = OCANNL_SUM_BLOCK;

struct Cascade {
  Assignments code;
  PartialSums sums;
};

// nullopt: no sum is longer than a block.
std::optional<Cascade> CascadeSums(const Assignments& code);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_SUMS_CASCADE_H_
