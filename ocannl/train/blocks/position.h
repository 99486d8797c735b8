// SPDX-License-Identifier: Apache-2.0
//
// Where in a sequence a vector stands. Both kinds turn by the angles
//
//   position / base^(2 i / size)     of pair i of the cells of a vector
//
// and are tables that the host computes in f64.
#ifndef OCANNL_TRAIN_BLOCKS_POSITION_H_
#define OCANNL_TRAIN_BLOCKS_POSITION_H_

#include <cstdint>

#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/params.h"

namespace ocannl::train {

inline constexpr double kPositionBase = 10'000;

struct Positions {
  int64_t length;  // positions are 0 to length - 1
  int64_t size;    // cells of a vector, an even number
  double base = kPositionBase;
};

// length|size: cell 2 i is the sine of the angle, cell 2 i + 1 its cosine; to
// be added to vectors. Vaswani et al., "Attention is all you need" (2017).
// Error node: sizes that make no sense.
Tensor SinusoidalPositions(const ParamScope& scope, const Positions& positions,
                           SourceLocation where = SourceLocation::Current());

// `x`, of shape ...,length|...,size, with the pair (x[2 i], x[2 i + 1]) turned
// by the angle: products of turned vectors depend on how far apart they are. Su
// et al., "RoFormer" (2021). Error node: sizes that make no sense.
Tensor Rope(const ParamScope& scope, const Positions& positions, Tensor x,
            SourceLocation where = SourceLocation::Current());

// The same for one place, `x` of shape ...|...,size: where the static index of
// that number says.
Tensor RopeAt(const ParamScope& scope, const Positions& positions,
              int32_t position, Tensor x,
              SourceLocation where = SourceLocation::Current());

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_POSITION_H_
