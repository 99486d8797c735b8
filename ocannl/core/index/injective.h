// SPDX-License-Identifier: Apache-2.0
//
// Whether loops write cells of an array more than once.
//
//   i => 3*i + 1       once
//   i, j => 4*i + j    once where j has 4 values or fewer, else not
//   i, j => i          not
#ifndef OCANNL_CORE_INDEX_INJECTIVE_H_
#define OCANNL_CORE_INDEX_INJECTIVE_H_

#include "absl/types/span.h"
#include "ocannl/core/index/projections.h"

namespace ocannl {

// Whether all `pieces` together reach no cell through their `lhs` more than
// once. Conservative: false when unsure.
bool IsInjective(absl::Span<const Projections> pieces);

}  // namespace ocannl

#endif  // OCANNL_CORE_INDEX_INJECTIVE_H_
